import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSelector } from './parse-selector.ts'
import { SelectorError } from './selector-error.ts'

function check(text: string, printed: string): void {
  assert.equal(parseSelector(text).toString(), printed)
}

function refuse(text: string, message: string | RegExp): void {
  assert.throws(
    () => parseSelector(text),
    error => {
      assert.ok(error instanceof SelectorError)
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
      return true
    },
    text,
  )
}

test('every selector form is parsed and formatted canonically', () => {
  check('', '')
  check('  \t\r\n', '')
  check('a', 'a')
  check('!a', '!a')
  check(' ! a ', '!a')
  check('a=b', 'a=b')
  check('a = b', 'a=b')
  check('a==b', 'a==b')
  check('a!=b', 'a!=b')
  check('a=', 'a=')
  check('a=,b= ,c!=', 'a=,b=,c!=')
  check('a>1,b<5', 'a>1,b<5')
  check('x=a,a=x', 'a=x,x=a')
  check('a in (y,x,y)', 'a in (x,y)')
  check('a notin (z)', 'a notin (z)')
  check('a in()', 'a in ()')
  check('a in (,)', 'a in ()')
  check('a in (,b)', 'a in (,b)')
  check('a in (b,,c)', 'a in (,b,c)')
  check('a in (b,)', 'a in (,b)')
  check('in in (in,notin)', 'in in (in,notin)')
  check('notin=in', 'notin=in')
  check('notin notin (notin),in', 'in,notin notin (notin)')
  check('example.com/a in ( b , c ) , !d', '!d,example.com/a in (b,c)')
  check('constructor=x,toString', 'constructor=x,toString')
})

test("label selector syntax errors have Kubernetes' messages", () => {
  refuse(',', "found ',', expected: !, identifier, or 'end of string'")
  refuse('=a', "found '=', expected: !, identifier, or 'end of string'")
  refuse('a,', "found '', expected: identifier after ','")
  refuse('a,,b', "found ',', expected: identifier after ','")
  refuse('!a=b', "found '=', expected: ',' or 'end of string'")
  refuse('a=b==c', "found '==', expected: ',' or 'end of string'")
  refuse('a=b c', "found 'c', expected: ',' or 'end of string'")
  refuse('!', "unable to parse requirement: found '', expected: identifier")
  refuse('!!a', "unable to parse requirement: found '!', expected: identifier")
  refuse('a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt")
  refuse('a(', "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt")
  refuse('a==(', "unable to parse requirement: found '(', expected: identifier")
  refuse('a in b', "unable to parse requirement: found 'b' expected: '('")
  refuse('a in', "unable to parse requirement: found '' expected: '('")
  refuse('a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier")
  refuse('a in (=', "unable to parse requirement: found '=', expected: ',', ')' or identifier")
  refuse('a in (b', "unable to parse requirement: found '', expected: ',' or ')'")
  refuse('a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'")
  refuse('a in (b,', "unable to parse requirement: found '', expected: ',', or identifier")
  refuse('a in (b,=)', "unable to parse requirement: found '=', expected: ',', or identifier")
})

test('invalid label keys and values are rejected', () => {
  refuse(
    'a/b/c',
    /^unable to parse requirement: <nil>: Invalid value: "a\/b\/c": a valid label key must consist of /,
  )
  refuse(
    '__proto__',
    /^unable to parse requirement: <nil>: Invalid value: "__proto__": name part must consist of /,
  )
  refuse(
    'a=b|',
    /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "b\|": a valid label must be /,
  )
  refuse('a in (b,|)', /^unable to parse requirement: values\[1\]\[a\]: Invalid value: "\|": /)
  refuse(
    'a in (|,%)',
    /^unable to parse requirement: \[values\[0\]\[a\]: .* "%": .*, values\[1\]\[a\]: .* "\|": .*\]$/,
  )
  refuse(
    'a>b',
    `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the ` +
      'value must be an integer',
  )
  refuse(
    'a>',
    `unable to parse requirement: values[0]: Invalid value: "": for 'Gt', 'Lt' operators, the ` +
      'value must be an integer',
  )
  refuse('a\0b', /Invalid value: "a\\x00b"/)
})

test('100,000 selector terms are parsed in linear time', () => {
  const terms = Array.from({ length: 100_000 }, (_, index) => `key-${index}=v`).join(',')
  assert.equal(parseSelector(terms).requirements.length, 100_000)
  const values = Array.from({ length: 100_000 }, (_, index) => `v${index}`).join(',')
  assert.equal(parseSelector(`a in (${values})`).requirements[0]?.values.length, 100_000)
  for (const piece of ['(', '!', '=', ' ', ',', 'a ', 'a']) refuse(`a${piece.repeat(200_000)}|`, /./)
})

test('formatted label selectors round trip, and any text parses or throws SelectorError', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '1', 'in', ' in ', ' notin ', '=', '!', '(', ')', ',', '<', '>', ' '),
  })
  fc.assert(
    fc.property(text, source => {
      try {
        const selector = parseSelector(source)
        assert.equal(parseSelector(selector.toString()).toString(), selector.toString())
      } catch (error) {
        assert.ok(error instanceof SelectorError)
      }
    }),
    { numRuns: 2_000 },
  )
})
