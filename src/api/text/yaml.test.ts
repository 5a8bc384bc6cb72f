import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson } from './arbitrary-json.ts'
import { DecodeError, type DecodeErrorReason } from '../decoding/decode-error.ts'
import { stringifyJson } from './json.ts'
import type { JsonValue } from './json-value.ts'
import { parseYaml, readYaml, readYamlDocuments, yamlDepthMax, yamlTokensMax } from './yaml.ts'

function check(text: string, expected: JsonValue): void {
  assert.deepEqual(parseYaml(text), expected)
}

/** Checks that every word of a line is a scalar with this value. */
function means(words: string, value: JsonValue): void {
  for (const word of words.split(' ')) check(`a: ${word}`, { a: value })
}

function refuses(text: string, reason: DecodeErrorReason, message: RegExp): void {
  assert.throws(
    () => parseYaml(text),
    error => error instanceof DecodeError && error.reason === reason && message.test(error.message),
  )
}

test('YAML 1.1 booleans and nulls are recognized like in Kubernetes', () => {
  means('y Y yes Yes YES true True TRUE on On ON', true)
  means('n N no No NO false False FALSE off Off OFF', false)
  means('~ null Null NULL', null)
  check('a:', { a: null })
  for (const word of ['yEs', 'oN', 'nULL', 'yes!', 'truer', '.', '+', '=']) check(`a: ${word}`, { a: word })
})

test('YAML numbers in all notations are exact to 64 bits', () => {
  means('15 +15 0xf 0XF 017 0o17 0O17 0b1111 1_5 15.0 1.5e1', 15)
  means('-31 -0x1f -0b11111 -037', -31)
  means('08', 8)
  means('1.5 1.50 15e-1 +1.5 .15e1', 1.5)
  means('0 -0 0.0 -0.0 0x0 00', 0)
  means('9223372036854775807 0x7fffffffffffffff', 9223372036854775807n)
  means('-9223372036854775808', -9223372036854775808n)
  means('18446744073709551615 18446744073709551616', 18446744073709551616)
  means('1e17', 100000000000000000n)
})

test('YAML text similar to numbers stays a string', () => {
  const words =
    '1e999 0x 0b2 0o8 1.2.3 1:30 2024-01-01 2024-01-01T00:00:00Z 10.0.0.1 1k 0x1fffffffffffffffff _1 ._5 --1'
  for (const word of words.split(' ')) check(`a: ${word}`, { a: word })
})

test('YAML numbers that JSON cannot express are rejected', () => {
  for (const word of ['.inf', '-.Inf', '+.INF', '.nan']) refuses(`a: ${word}`, 'syntax', /unsupported value/)
})

test('quoted and tagged scalars', () => {
  check(`["on", 'on', "1", !!str 1, ! 1, !custom 1]`, ['on', 'on', '1', '1', '1', '1'])
  check('[!!int "3", !!float 3, !!bool "yes", !!null "", !!binary aGk=]', [3, 3, true, null, 'hi'])
  refuses('!!int x', 'syntax', /cannot decode "x" as a !!int/)
  refuses('!!binary "*"', 'syntax', /base64/)
  refuses(`!!binary "a${' '.repeat(1_000_000)}*"`, 'syntax', /base64/)
  check('"a\\ud800b"', 'a\ufffdb')
})

test('YAML keys that are not strings become strings', () => {
  check('{1: a, 0x10: b, 1.5: c, yes: d}', { 1: 'a', 16: 'b', 1.5: 'c', true: 'd' })
  check('9007199254740993: a', { '9007199254740993': 'a' })
  refuses('~: a', 'syntax', /key/)
  refuses('? [a]\n: b', 'syntax', /key/)
})

test('block scalars, comments, flow collections and indentation', () => {
  check('a: |\n  x\n   y\nb: >-\n  p\n  q\n', { a: 'x\n y\n', b: 'p q' })
  check('a: 1 # one\nb: x#y\n# end', { a: 1, b: 'x#y' })
  check('a: {\n  b: [1,\n 2]\n}', { a: { b: [1, 2] } })
  check('a:\n- b\n-  - c\n   - d: e\n     f: g\n', { a: ['b', ['c', { d: 'e', f: 'g' }]] })
  check('a: "x\n  y"\nb: x\n  y', { a: 'x y', b: 'x y' })
})

test('merge keys take effect at their place, the first of several maps wins', () => {
  check('x: &a {p: 1, q: 1}\nz:\n  <<: *a\n  q: 2', { x: { p: 1, q: 1 }, z: { p: 1, q: 2 } })
  check('z:\n  q: 2\n  <<: {q: 1}', { z: { q: 1 } })
  check('<<: [{a: 1}, {a: 2, b: 2}]', { a: 1, b: 2 })
  check('"<<": 1', { '<<': 1 })
  refuses('<<: 1', 'syntax', /map merge/)
  refuses('a: &a [1]\nb: {<<: *a}', 'syntax', /map merge/)
})

test('aliases share the value of the latest anchor of their name', () => {
  const value = parseYaml('a: &x [1]\nb: *x\nc: &x 2\nd: *x') as { a: JsonValue; b: JsonValue }
  assert.deepEqual(value, { a: [1], b: [1], c: 2, d: 2 })
  assert.equal(value.a, value.b)
  refuses('a: *x', 'syntax', /unknown anchor 'x'/)
  refuses(`a: *${'x'.repeat(1_000_000)}`, 'syntax', /^.{100,200}$/)
  refuses('a: &x [*x]', 'syntax', /anchor 'x' value contains itself/)
})

test('YAML alias expansion attacks are rejected', () => {
  const levels = Array.from('bcdefghij', (name, index) => {
    return `${name}: &${name} [${Array(9)
      .fill(`*${'abcdefghi'.charAt(index)}`)
      .join(',')}]`
  })
  refuses(`a: &a [x,x,x,x,x,x,x,x,x]\n${levels.join('\n')}`, 'too-large', /excessive aliasing/)
  refuses(`a: &a ${'x'.repeat(1_000_000)}\nb: [*a, *a, *a, *a]`, 'too-large', /excessive aliasing/)
  const wide = Array.from({ length: 2_000 }, (_, index) => `k${index}: 1`).join(', ')
  refuses(`a: &a {${wide}}\nb: [${'{<<: *a}, '.repeat(1_000)}]`, 'too-large', /excessive aliasing/)
  const deep = Array.from({ length: 10 }, (_, index) => {
    return `a${index + 1}: &a${index + 1} ${'['.repeat(150)}*a${index}${']'.repeat(150)}`
  })
  refuses(`a0: &a0 1\n${deep.join('\n')}`, 'too-deep', /max depth/)
})

test('duplicate keys are reported with the line of the value, the last one counts', () => {
  const read = (text: string) => readYaml(text).duplicateKeys.map(({ key, line }) => `${key}@${line}`)
  assert.deepEqual(read('a: 1\nb:\n  c: 1\n  c: 2\na: 3'), ['c@4', 'a@5'])
  assert.deepEqual(read('a: 1\n"a": 2\n__proto__: 1\n__proto__: 2'), ['a@2', '__proto__@4'])
  assert.deepEqual(read('{"a":1,\n"a":2}'), ['a@2'])
  assert.deepEqual(read('x: &a {p: 1}\nz: {<<: *a, p: 2}'), ['p@2'])
  assert.equal(read('a: 1\n'.repeat(10_000)).length, 100)
  check('a: 1\na: 2', { a: 2 })
})

test('a key __proto__ is an ordinary member', () => {
  const value = parseYaml('__proto__: {polluted: 1}\nconstructor: 2')
  assert.deepEqual(Object.keys(value as object), ['__proto__', 'constructor'])
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.keys(parseYaml('<<: {__proto__: 1}') as object), ['__proto__'])
})

test('several YAML documents are read one by one without empty ones', () => {
  const read = (text: string) => [...readYamlDocuments(text)].map(({ value }) => value)
  const text = '---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n---\n- c\n'
  assert.deepEqual(read(text), [{ a: 1 }, { b: 2 }, ['c']])
  assert.deepEqual(read('a: |\n  x\n---\nb: 1'), [{ a: 'x\n' }, { b: 1 }])
  assert.deepEqual(read(''), [])
  assert.deepEqual(read('{"a":1}'), [{ a: 1 }])
  assert.equal(read('a: 1\n---\n'.repeat(5_000)).length, 5_000)
  check('a: 1\n---\nb: 2', { a: 1 })
  check('', null)
})

test('invalid YAML is rejected with its line', () => {
  refuses('a: 1\nb: c: d', 'syntax', /^yaml: line 2: /)
  refuses('a:\n\t- b', 'syntax', /^yaml: line 2: /)
  refuses('a: [1', 'syntax', /^yaml: line 1: /)
  refuses('a: @b', 'syntax', /^yaml: line 1: /)
  refuses('}', 'syntax', /^yaml: line 1: /)
})

test('YAML and JSON input must be UTF-8', () => {
  for (const text of ['a: \xff', '{"a": "\xc0\xaf"}']) {
    assert.throws(() => parseYaml(Buffer.from(text, 'latin1')), { reason: 'syntax', message: /UTF-8/ })
  }
})

test('YAML depth is bounded', () => {
  const levels = yamlDepthMax - 10
  assert.doesNotThrow(() => parseYaml(`${'- '.repeat(levels)}a`))
  assert.doesNotThrow(() => parseYaml(`${'['.repeat(levels)}a${']'.repeat(levels)}`))
  assert.doesNotThrow(() => parseYaml(`${'['.repeat(900)}1${']'.repeat(900)}`))
  for (const level of ['- ', '[', '{', '{a: ', '? ', '[{', ': ', '&a [']) {
    refuses(level.repeat(10_000), 'too-deep', /max depth/)
  }
  const steps = Array.from({ length: 1_000 }, (_, index) => `${' '.repeat(index)}a:`)
  refuses(steps.join('\n'), 'too-deep', /max depth/)
})

test('YAML size and number of tokens are bounded', () => {
  const large = Buffer.alloc(50_000_000, 'a')
  assert.throws(() => parseYaml(large, { maxBytes: 3_000_000 }), { reason: 'too-large' })
  const many = (text: string) => text.repeat(yamlTokensMax)
  refuses(many('- [a]\n'), 'too-large', /limit is 200000 tokens/)
  refuses(`a: |\n${many('  x\n')}`, 'too-large', /limit is 200000 tokens/)
  refuses('%a\n'.repeat(100), 'too-large', /directives/)
  check(`a: ${'x '.repeat(1_000_000)}x`, { a: `${'x '.repeat(1_000_000)}x` })
})

test('JSON documents parse as YAML', () => {
  fc.assert(
    fc.property(arbitraryJson, value => {
      assert.deepEqual(parseYaml(` ${stringifyJson(value)}`), value)
    }),
    { numRuns: 100 },
  )
})

test('any text parses as YAML or throws DecodeError', () => {
  const fragment = fc.constantFrom(
    '- ',
    '? ',
    ': ',
    'a',
    '\n',
    ' ',
    '  ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '|',
    '>',
    '&a ',
    '*a',
    '!',
    '!!int ',
    '<<',
    '---\n',
    '...\n',
    '%',
    '#',
    '\t',
    '1',
    '~',
    '\\',
    '@',
    '\0',
    '\u0085',
    '\ufeff',
  )
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 15 }), fragments => {
      try {
        stringifyJson([...readYamlDocuments(fragments.join(''))].map(({ value }) => value))
      } catch (error) {
        assert(error instanceof DecodeError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('a reader of documents can resolve unquoted scalars by rules of its own', () => {
  const text = 'a: yes\nbb: "yes"\n&c yes: [*c, !!str yes]\n'
  const resolveScalar = (scalar: string) => scalar.length
  const [document] = readYamlDocuments(text, { resolveScalar })
  assert.deepEqual(document?.value, { 1: 3, 2: 'yes', 3: [3, 'yes'] })
})
