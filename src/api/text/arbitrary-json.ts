/**
 * Arbitrary JSON values for property tests, as the parser returns them: numbers in canonical form, strings
 * well-formed.
 */
import fc from 'fast-check'
import { int64Max, int64Min } from './int64.ts'
import { toExactNumber } from './json.ts'
import type { JsonValue } from './json-value.ts'

/** Characters and words with a special meaning in JSON, YAML or JavaScript. */
const troublesome = [
  'a',
  ' ',
  '\n',
  '\t',
  '\r',
  ':',
  '#',
  '-',
  '?',
  "'",
  '"',
  '\\',
  '.',
  '|',
  '>',
  '&',
  '*',
  '!',
  '%',
  '0',
  '1',
  'x',
  '_',
  ',',
  '[',
  ']',
  '{',
  '}',
  '\0',
  '\x01',
  '\x85',
  '\u2028',
  '\ufeff',
  'é',
  '😀',
]
const words = [
  '__proto__',
  'constructor',
  'toString',
  'on',
  'y',
  'No',
  'null',
  '~',
  '',
  '<<',
  '=',
  '---',
  '...',
  '- a',
  'a: b',
  'a #b',
  '1',
  '1e3',
  '0x1f',
  '017',
  '1_000',
  '.5',
  '.inf',
  '1:30',
  '2024-01-01',
  '2024-01-01T00:00:00Z',
  '\x019007199254740993',
  '9007199254740993',
]

export const arbitraryText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...troublesome), maxLength: 150 }),
  fc.constantFrom(...words),
)

const arbitraryNumber = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => toExactNumber(value + 0)),
  fc.bigInt({ min: int64Min, max: int64Max }).filter(value => !Number.isSafeInteger(Number(value))),
)

export const arbitraryJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    arbitraryNumber,
    arbitraryText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(arbitraryText, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
  ),
})).value
