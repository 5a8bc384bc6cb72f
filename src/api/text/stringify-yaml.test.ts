import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson } from './arbitrary-json.ts'
import type { JsonValue } from './json-value.ts'
import { stringifyYaml } from './stringify-yaml.ts'
import { parseYaml } from './yaml.ts'

function check(value: JsonValue, ...lines: string[]): void {
  assert.equal(stringifyYaml(value), `${lines.join('\n')}\n`)
  assert.deepEqual(parseYaml(stringifyYaml(value)), value)
}

/** Checks each string as the value of a key `a`, and the text after the colon. */
function checkStrings(printed: Readonly<Record<string, string>>): void {
  for (const [value, text] of Object.entries(printed)) check({ a: value }, `a: ${text}`)
}

test('YAML output of maps, lists and empty values', () => {
  check(
    { b: { c: 1, a: [] }, a: [{ x: 1, z: [2] }, [3, [4]], {}, null] },
    'a:',
    '- x: 1',
    '  z:',
    '  - 2',
    '- - 3',
    '  - - 4',
    '- {}',
    '- null',
    'b:',
    '  a: []',
    '  c: 1',
  )
  check({}, '{}')
  check([], '[]')
  check([{ a: { b: 1 } }], '- a:', '    b: 1')
  check('x', 'x')
})

test('YAML output has keys in natural order', () => {
  check(
    { 'b': 1, 'a10': 1, 'a2': 1, 'A': 1, 'a-b': 1, '_c': 1 },
    '_c: 1',
    'A: 1',
    'a-b: 1',
    'a2: 1',
    'a10: 1',
    'b: 1',
  )
})

test('YAML output of numbers', () => {
  check([1, -1.5, 9223372036854775807n, 1e21], '- 1', '- -1.5', '- 9223372036854775807', '- 1e+21')
  check([0.00001, 1234567.5, 100000.5, 0.0001], '- 1e-05', '- 1.2345675e+06', '- 100000.5', '- 0.0001')
})

test('YAML output quotes only ambiguous strings', () => {
  for (const text of [
    'true',
    'False',
    'on',
    'y',
    'NO',
    'null',
    '~',
    '',
    '1',
    '-1',
    '1.5',
    '1e3',
    '0x1f',
    '017',
    '0o17',
    '1_000',
    '.5',
    '.inf',
    '2024-01-01',
    '2024-01-01T00:00:00Z',
    '2024-02-29 23:59:59.5',
    '2024-12-31t1:2:3-07:30',
    '1:30',
    '<<',
  ])
    checkStrings({ [text]: `"${text}"` })
  for (const text of [
    'a',
    '2023-02-29',
    '2024-13-01',
    '2024-01-00',
    '2024-01-01 24:00:00',
    '2024-01-01T00:60:00Z',
    '2024-01-01T00:00:00+25:00',
    'true!',
    'nginx:1.25',
    '1.2.3',
    '10.0.0.1/8',
    'a b',
    'a#b',
    'a:b',
    '-a',
    ':8080',
    '?a',
    "a'b",
    'a"b',
    'a\\b',
    'é',
    'x,y',
    'a[0]',
    '0x',
    '500m',
    '/bin',
    '=',
    '--x',
  ])
    checkStrings({ [text]: text })
  for (const text of [
    '- a',
    'a: b',
    'a:',
    'a #b',
    ' a',
    'a ',
    '*a',
    '&a',
    '!a',
    '%a',
    '@a',
    '`a',
    '{a',
    '[a',
    '#a',
    '|',
    '>',
    '"a"',
    '-',
    '?',
    ':',
    '---',
    '...',
    ', a',
  ])
    checkStrings({ [text]: `'${text}'` })
  checkStrings({ "'a'": `'''a'''`, 'a\tb': '"a\\tb"', 'a\rb': '"a\\rb"' })
  checkStrings({ '😀': '"\\U0001F600"', 'a\u0085b': '"a\\Nb"' })
  check({ 'on': 1, 1: 2, 'a: b': 3 }, '"1": 2', `'a: b': 3`, '"on": 1')
})

test('YAML output has multi-line strings as blocks', () => {
  check({ a: 'x\n  y\n\nz' }, 'a: |-', '  x', '    y', '', '  z')
  check({ a: 'x\n', b: 1 }, 'a: |', '  x', 'b: 1')
  check({ a: 'x\n\n', b: 1 }, 'a: |+', '  x', '', 'b: 1')
  check({ a: ' x\ny' }, 'a: |2-', '   x', '  y')
  check([['x\ny\n']], '- - |', '    x', '    y')
  check({ a: 'x \ny' }, 'a: "x \\ny"')
  check({ a: 'x\n\ty' }, 'a: "x\\n\\ty"')
})

test('YAML output folds lines after 80 columns', () => {
  const words =
    'The quick brown fox jumps over the lazy dog and then it goes on and on, never stopping until the end'
  check(
    { long: words },
    'long: The quick brown fox jumps over the lazy dog and then it goes on and on, never',
    '  stopping until the end',
  )
  check(
    { a: { b: `${words}: x` } },
    'a:',
    `  b: 'The quick brown fox jumps over the lazy dog and then it goes on and on, never`,
    `    stopping until the end: x'`,
  )
  check(
    [`\t${words}`],
    '- "\\tThe quick brown fox jumps over the lazy dog and then it goes on and on, never',
    '  stopping until the end"',
  )
})

test('YAML output has explicit keys for long or multi-line keys', () => {
  const long = 'k'.repeat(129)
  check({ [long]: { a: 1, b: [2] } }, `? ${long}`, ': a: 1', '  b:', '  - 2')
  check({ [long]: 'x' }, `? ${long}`, ': x')
  check({ 'a\nb': [1] }, '? |-', '  a', '  b', ': - 1')
  check({ 'a\rb': [1] }, '? "a\\rb"', ': - 1')
})

test('YAML output round trips', () => {
  fc.assert(
    fc.property(arbitraryJson, value => {
      // With a comment in front, even a text that starts with a bracket is parsed as YAML, not as JSON.
      const text = `# x\n${stringifyYaml(value)}`
      assert.deepEqual(parseYaml(text), value, text)
    }),
    { numRuns: 250 },
  )
})
