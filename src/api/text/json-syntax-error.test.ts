import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeJsonSyntaxError } from './json-syntax-error.ts'

const cases: readonly (readonly [text: string, description: string])[] = [
  ['', 'unexpected end of JSON input'],
  ['  ', 'unexpected end of JSON input'],
  ['{"a":[1', 'unexpected end of JSON input'],
  ['"a', 'unexpected end of JSON input'],
  ['"a\\', 'unexpected end of JSON input'],
  ['tru', 'unexpected end of JSON input'],
  ['-', 'unexpected end of JSON input'],
  ['a', `invalid character 'a' looking for beginning of value`],
  ['[,', `invalid character ',' looking for beginning of value`],
  ['[1,]', `invalid character ']' looking for beginning of value`],
  ['{a', `invalid character 'a' looking for beginning of object key string`],
  ['{"a":1,}', `invalid character '}' looking for beginning of object key string`],
  ['{"a" 1', `invalid character '1' after object key`],
  ['{"a":1 "b"', `invalid character '"' after object key:value pair`],
  ['[1 2', `invalid character '2' after array element`],
  ['{}{', `invalid character '{' after top-level value`],
  ['01', `invalid character '1' after top-level value`],
  ['"\n"', `invalid character '\\n' in string literal`],
  ['"\\x"', `invalid character 'x' in string escape code`],
  ['"\\u12g4"', `invalid character 'g' in \\u hexadecimal character escape`],
  ['-a', `invalid character 'a' in numeric literal`],
  ['1.e', `invalid character 'e' after decimal point in numeric literal`],
  ['1ex', `invalid character 'x' in exponent of numeric literal`],
  ['trux', `invalid character 'x' in literal true (expecting 'e')`],
  ['nul]', `invalid character ']' in literal null (expecting 'l')`],
  [`'a'`, `invalid character '\\'' looking for beginning of value`],
  ['\ufeff{}', `invalid character 'ï' looking for beginning of value`],
]

for (const [text, description] of cases) {
  test(`${JSON.stringify(text)}: ${description}`, () => {
    assert.equal(describeJsonSyntaxError(text), description)
  })
}

test('a text of a million brackets is described without recursion', () => {
  assert.equal(describeJsonSyntaxError('['.repeat(1_000_000)), 'unexpected end of JSON input')
})

test('every described syntax error is rejected by JSON.parse', () => {
  const fragment = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"a"',
    '"',
    ',',
    ':',
    '1',
    '-',
    '.',
    'e',
    'true',
    'nul',
    ' ',
    '\\',
    '\n',
  )
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 8 }), fragments => {
      const text = fragments.join('')
      const isAtFault = describeJsonSyntaxError(text).startsWith('invalid character')
      if (isAtFault) assert.throws(() => JSON.parse(text), SyntaxError)
      else assert.throws(() => JSON.parse(`${text}\0`), SyntaxError)
    }),
    { numRuns: 2000 },
  )
})
