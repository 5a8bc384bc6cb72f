import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Random } from '#/platform/platform.ts'
import { formatFieldErrors, type FieldError } from './field-error.ts'
import {
  checkBuiltInFinalizerName,
  checkCIdentifier,
  checkConfigMapKey,
  checkDns1035Label,
  checkDns1123Label,
  checkDns1123Subdomain,
  checkDns1123SubdomainWithUnderscore,
  checkEnvVarName,
  checkFinalizerName,
  checkHttpHeaderName,
  checkHttpPath,
  checkLabelValue,
  checkPathSegmentName,
  checkPathSegmentPrefix,
  checkPortName,
  checkPortNumber,
  checkQualifiedName,
  checkRelaxedEnvVarName,
  checkUserId,
  checkWildcardDns1123Subdomain,
  dns1035LabelNames,
  generateName,
  labelNames,
  pathSegmentNames,
  subdomainNames,
  validateDomainPrefixedKey,
  validateDomainPrefixedPath,
  validateFullyQualifiedDomainName,
  validateFullyQualifiedName,
} from './names.ts'

type Check = (value: string) => string[]

/** Valid and invalid names for a check, separated by spaces; all invalid ones get the same message. */
function check(rule: Check, cases: { valid: string; invalid: string; message: string }): void {
  for (const value of cases.valid.split(' ')) assert.deepEqual(rule(value), [], value)
  for (const value of [...cases.invalid.split(' '), '', 'a\n', 'é', '\0']) {
    assert.deepEqual(rule(value), [cases.message], value)
  }
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const subdomainMessage =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ' +
  "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
  `regex used for validation is '${subdomain}')`
const labelMessage =
  'a lowercase RFC 1123 label must consist of lower case alphanumeric characters or ' +
  "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used " +
  `for validation is '${label}')`

test('DNS-1123 labels', () => {
  check(checkDns1123Label, {
    valid: `a 0 a-b a--b 123-abc ${'x'.repeat(63)}`,
    invalid: 'A -a a- - _ a_b a/b .a a. a..b',
    message: labelMessage,
  })
  assert.deepEqual(checkDns1123Label('a.b'), ['must not contain dots'])
  assert.deepEqual(checkDns1123Label('x'.repeat(64)), ['must be no more than 63 characters'])
  assert.deepEqual(checkDns1123Label('X'.repeat(64)), ['must be no more than 63 characters', labelMessage])
  assert.deepEqual(checkDns1123Label('é'.repeat(32)), ['must be no more than 63 characters', labelMessage])
})

test('DNS-1123 subdomains', () => {
  check(checkDns1123Subdomain, {
    valid: `a a.b 1.2.3 a-b.c-d a--b.c ${'x'.repeat(253)}`,
    invalid: 'A .a a. a..b -a a- a.-b a-.b . .. - _ a_b *.a',
    message: subdomainMessage,
  })
  assert.deepEqual(checkDns1123Subdomain('x'.repeat(254)), ['must be no more than 253 characters'])
})

test('subdomains with underscores', () => {
  const pattern = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
  check(checkDns1123SubdomainWithUnderscore, {
    valid: '_a a_b _a._b a.b a__b a-_b _a._tcp.example',
    invalid: '_ a_ __a a._ a_.b a._.b a.__b -a a-.b A _-a a._-b',
    message:
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' " +
      "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
      `validation is '${pattern}(\\.${pattern})*')`,
  })
})

test('DNS-1035 labels', () => {
  check(checkDns1035Label, {
    valid: `a a-1 abc-123 ${'x'.repeat(63)}`,
    invalid: '1 1a -a a- A a.b a_b',
    message:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
      "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex " +
      "used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  })
})

test('wildcard subdomains', () => {
  check(checkWildcardDns1123Subdomain, {
    valid: '*.a *.foo.bar.com',
    invalid: '* *. a *a.b *.*.a *.A a.*.b',
    message:
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which " +
      "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric " +
      `character (e.g. '*.example.com', regex used for validation is '\\*\\.${subdomain}')`,
  })
})

const namePart =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

test('qualified names', () => {
  const valid = `simple now-with-dashes 1-starts-with-num 1234 simple/simple now-with-dashes/simple
    1.2.3.4/5678 Upper
    example.com/Upper_and.dots ${'a'.repeat(63)} ${'a'.repeat(253)}/${'b'.repeat(63)} constructor toString`
  for (const value of valid.split(/\s+/)) assert.deepEqual(checkQualifiedName(value), [], value)
  const refuse = (value: string, messages: readonly string[]): void => {
    assert.deepEqual(checkQualifiedName(value), messages)
    assert.deepEqual(checkFinalizerName(value), messages)
  }
  refuse('', ['name part must be non-empty', `name part ${namePart}`])
  refuse('a/', ['name part must be non-empty', `name part ${namePart}`])
  refuse('/a', ['prefix part must be non-empty'])
  refuse('A/a', [`prefix part ${subdomainMessage}`])
  refuse('-a', [`name part ${namePart}`])
  refuse('__proto__', [`name part ${namePart}`])
  refuse('a'.repeat(64), ['name part must be no more than 63 bytes'])
  refuse(`${'a'.repeat(254)}/b`, ['prefix part must be no more than 253 bytes'])
  refuse('a/b/c', [
    `a valid label key ${namePart} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ])
})

test('label values', () => {
  for (const value of ['', 'a', 'A_b-c.D', '0', 'x'.repeat(63)]) assert.deepEqual(checkLabelValue(value), [])
  const message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' " +
    "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
  for (const value of ['-', 'a-', '_a', 'a b', 'a/b', 'é', 'a\n']) {
    assert.deepEqual(checkLabelValue(value), [message])
  }
  assert.deepEqual(checkLabelValue('x'.repeat(64)), ['must be no more than 63 bytes'])
})

test('names of environment variables', () => {
  const message =
    "a valid environment variable name must consist of alphabetic characters, digits, '_', " +
    "'-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or " +
    "'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
  check(checkEnvVarName, { valid: 'a A_b -a .a _ a1 __proto__', invalid: '1a a=b a+b $a', message })
  assert.deepEqual(checkEnvVarName('.'), ["must not be '.'"])
  assert.deepEqual(checkEnvVarName('..'), ["must not be '..'"])
  assert.deepEqual(checkEnvVarName('..a='), [message, "must not start with '..'"])
  for (const value of ['1', '..', 'a b', '$(A)', '~']) assert.deepEqual(checkRelaxedEnvVarName(value), [])
  assert.deepEqual(checkRelaxedEnvVarName(''), ['environment variable name must be non-empty'])
  for (const value of ['a=b', 'é', '\n', '\x7f']) {
    assert.deepEqual(checkRelaxedEnvVarName(value), [
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ])
  }
})

test('keys of config maps', () => {
  check(checkConfigMapKey, {
    valid: `a .a a..b A_b-c 1 ... ${'x'.repeat(253)}`.replace(' ...', ''),
    invalid: 'a/b a=b',
    message:
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. " +
      "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
  })
  assert.deepEqual(checkConfigMapKey('.'), ["must not be '.'"])
  assert.deepEqual(checkConfigMapKey('..a'), ["must not start with '..'"])
  assert.deepEqual(checkConfigMapKey('x'.repeat(254)), ['must be no more than 253 characters'])
})

test('ports', () => {
  for (const name of ['http', 'a1', '1a', 'a-b', 'x'.repeat(15)]) assert.deepEqual(checkPortName(name), [])
  const charset = 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'
  assert.deepEqual(checkPortName(''), [charset, 'must contain at least one letter (a-z)'])
  assert.deepEqual(checkPortName('A'), [charset, 'must contain at least one letter (a-z)'])
  assert.deepEqual(checkPortName('80'), ['must contain at least one letter (a-z)'])
  assert.deepEqual(checkPortName('-a--b-'), [
    'must not contain consecutive hyphens',
    'must not begin or end with a hyphen',
  ])
  assert.deepEqual(checkPortName('x'.repeat(16)), ['must be no more than 15 characters'])
  for (const port of [1, 80, 65_535]) assert.deepEqual(checkPortNumber(port), [])
  for (const port of [0, -1, 65_536, Number.NaN]) {
    assert.deepEqual(checkPortNumber(port), ['must be between 1 and 65535, inclusive'])
  }
  assert.deepEqual(checkUserId(0), [])
  assert.deepEqual(checkUserId(2n ** 31n), ['must be between 0 and 2147483647, inclusive'])
})

test('headers, identifiers and paths', () => {
  check(checkHttpHeaderName, {
    valid: 'X-Header a - 1',
    invalid: 'a_b a:b',
    message:
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', " +
      "regex used for validation is '[-A-Za-z0-9]+')",
  })
  check(checkCIdentifier, {
    valid: 'a _a A1 __proto__',
    invalid: '1a a-b a.b',
    message:
      "a valid C identifier must start with alphabetic character or '_', followed by a string of " +
      "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for " +
      "validation is '[A-Za-z_][A-Za-z0-9_]*')",
  })
  check(checkHttpPath, {
    valid: "a a/b ~!$&'()*+,;=: %20",
    invalid: 'a?b a#b "a"',
    message: "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
  })
})

test('path segments', () => {
  for (const name of ['', 'a', 'system:node', '...', 'a.b', 'é']) {
    assert.deepEqual(checkPathSegmentName(name), [])
  }
  assert.deepEqual(checkPathSegmentName('.'), ["may not be '.'"])
  assert.deepEqual(checkPathSegmentName('..'), ["may not be '..'"])
  assert.deepEqual(checkPathSegmentName('%/'), ["may not contain '/'", "may not contain '%'"])
  assert.deepEqual(checkPathSegmentPrefix('..'), [])
})

test('finalizers of built-in kinds', () => {
  for (const name of ['kubernetes', 'orphan', 'foregroundDeletion', 'a/b']) {
    assert.deepEqual(checkBuiltInFinalizerName(name), [])
  }
  assert.deepEqual(checkBuiltInFinalizerName('mine'), [
    'name is neither a standard finalizer name nor is it fully qualified',
  ])
})

test('domain prefixes of names are validated', () => {
  const accept = (errors: readonly FieldError[]): void => assert.deepEqual(errors, [])
  const refuse = (errors: readonly FieldError[], text: string): void => {
    assert.equal(formatFieldErrors(errors), text)
  }
  accept(validateFullyQualifiedName('x', 'a.b.c'))
  refuse(validateFullyQualifiedName('x', ''), 'x: Required value')
  refuse(
    validateFullyQualifiedName('x', 'a.b'),
    'x: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
  )
  refuse(validateFullyQualifiedName('x', 'A'), `x: Invalid value: "A": ${subdomainMessage}`)
  accept(validateFullyQualifiedDomainName('x', 'a.b.'))
  refuse(
    validateFullyQualifiedDomainName('x', 'a'),
    'x: Invalid value: "a": should be a domain with at least two segments separated by dots',
  )
  refuse(
    validateFullyQualifiedDomainName('x', `a.${'b'.repeat(64)}`),
    `x: Invalid value: "${'b'.repeat(64)}": must be no more than 63 characters`,
  )
  accept(validateDomainPrefixedPath('x', 'acme.io/foo/bar'))
  for (const value of ['a', '/a', 'a/']) {
    refuse(
      validateDomainPrefixedPath('x', value),
      `x: Invalid value: "${value}": must be a domain-prefixed path (such as "acme.io/foo")`,
    )
  }
  refuse(
    validateDomainPrefixedPath('x', 'A/b?'),
    `[x: Invalid value: "A": ${subdomainMessage}, x: Invalid value: "b?": Invalid path (regex used for ` +
      "validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')]",
  )
  accept(validateDomainPrefixedKey('x', 'acme.io/foo'))
  refuse(
    validateDomainPrefixedKey('x', 'foo'),
    'x: Invalid value: "foo": must be a domain-prefixed key (such as "acme.io/foo")',
  )
})

test('generateName may end with a dash', () => {
  for (const rule of [subdomainNames, labelNames, dns1035LabelNames]) {
    assert.deepEqual(rule.prefix('web-'), [])
    assert.notDeepEqual(rule.name('web-'), [])
    assert.notDeepEqual(rule.prefix('-'), [])
    assert.notDeepEqual(rule.prefix('Web-'), [])
  }
  assert.deepEqual(pathSegmentNames.prefix('system:'), [])
})

/** Returns the given numbers in a cycle. */
function drawing(...numbers: readonly number[]): Random {
  let drawn = 0
  return {
    fraction: () => assert.fail(),
    integer: (_label, below) => (numbers[drawn++ % numbers.length] ?? 0) % below,
    bytes: () => assert.fail(),
    uuid: () => assert.fail(),
  }
}

test('generated names end in five letters of the alphabet and fit into a label', () => {
  assert.equal(generateName('web-', drawing(0, 1, 2, 25, 26)), 'web-bcd89')
  assert.equal(generateName('x'.repeat(100), drawing(0)), `${'x'.repeat(58)}bbbbb`)
  fc.assert(
    fc.property(fc.nat(1000), fc.stringMatching(/^[a-z]{1,80}$/), (seed, prefix) => {
      const name = generateName(prefix, drawing(seed, seed + 7, seed + 11))
      assert.match(name.slice(-5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      assert.deepEqual(checkDns1123Label(name), [])
    }),
  )
})

test('name checks agree with the regular expressions in their messages', () => {
  const pairs: readonly (readonly [Check, RegExp])[] = [
    [checkDns1123Label, new RegExp(`^${label}$`)],
    [checkDns1123Subdomain, new RegExp(`^${subdomain}$`)],
    [
      checkDns1123SubdomainWithUnderscore,
      /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/,
    ],
    [checkDns1035Label, /^[a-z]([-a-z0-9]*[a-z0-9])?$/],
    [checkWildcardDns1123Subdomain, new RegExp(`^\\*\\.${subdomain}$`)],
    [checkLabelValue, /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/],
    [checkCIdentifier, /^[A-Za-z_][A-Za-z0-9_]*$/],
    [checkHttpHeaderName, /^[-A-Za-z0-9]+$/],
  ]
  const unit = fc.constantFrom('a', 'Z', '0', '-', '.', '_', '*', '/')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 8 }), value => {
      for (const [rule, expression] of pairs) {
        assert.equal(rule(value).length === 0, expression.test(value), value)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('name checks take linear time and never throw', () => {
  const rules: readonly Check[] = [
    checkDns1123Label,
    checkDns1123Subdomain,
    checkDns1123SubdomainWithUnderscore,
    checkDns1035Label,
    checkWildcardDns1123Subdomain,
    checkQualifiedName,
    checkLabelValue,
    checkEnvVarName,
    checkRelaxedEnvVarName,
    checkConfigMapKey,
    checkPortName,
    checkHttpHeaderName,
    checkHttpPath,
    checkCIdentifier,
    checkPathSegmentName,
  ]
  for (const piece of ['a', 'a.', 'a-', '-', '.', '_a.', 'a/', '*.', '\ud800']) {
    const hostile = `${piece.repeat(500_000)}!`
    for (const rule of rules) rule(hostile)
  }
})
