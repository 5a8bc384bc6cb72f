import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { formatValue } from './go-format.ts'
import { parseJsonPathTemplate, relaxedJsonPath, type JsonPathTemplate } from './json-path-template.ts'
/** Templates with the results of kubectl. */
import recorded from './testdata/json-path-template.json' with { type: 'json' }

const object: JsonValue = {
  kind: 'List',
  metadata: {
    name: 'x',
    labels: { 'app': 'web', 'a.b/c': 'dotted' },
    note: '<b> & "q"',
    nothing: null,
    empty: {},
  },
  items: [
    { name: 'a', n: 1, f: 1.5, ready: true, tags: ['x', 'y'], list: [{ v: 1 }, { v: 2 }] },
    { name: 'b', n: 20, f: 2.5, ready: false, tags: [], list: [{ v: 3 }] },
    { name: 'c', n: -3, f: 1e21, tags: ['z'], list: [], only: 'c' },
  ],
  numbers: [1, 2, 3, 4, 5],
  big: 12345678901234567n,
}

function check(
  cases: keyof typeof recorded,
  resultOf: (template: JsonPathTemplate) => string,
  allowMissingKeys = true,
): void {
  assert.ok(recorded[cases].length > 0)
  for (const [text = '', expected] of recorded[cases]) {
    assert.equal(resultOf(parseJsonPathTemplate(text, { allowMissingKeys })), expected, text)
  }
}

function matchesOf(template: JsonPathTemplate): string {
  try {
    return template.matches(object).map(formatValue).join(' ')
  } catch (error) {
    if (error instanceof Error && error.name === 'JsonPathError') return `error: ${error.message}`
    throw error
  }
}

test('a JSONPath template prints what kubectl prints', () => check('outputs', each => each.execute(object)))

test('jsonpath-as-json prints the matches of each expression and text as a list', () => {
  check('listsOfMatches', each => each.executeAsJson(object))
})

test('a JSONPath that does not fit the object fails with the reason of kubectl', () => {
  check('failures', matchesOf)
})

test('missing keys are an error unless they are allowed', () => check('strictResults', matchesOf, false))

test('an invalid JSONPath template is rejected with the reason of kubectl', () => {
  for (const [text = '', message] of recorded.syntaxErrors) {
    assert.throws(() => parseJsonPathTemplate(text, { allowMissingKeys: true }), { message }, text)
  }
})

test('a failing template shows itself and the object', () => {
  const template = parseJsonPathTemplate('{.a[0]}"', { allowMissingKeys: true })
  assert.throws(() => template.execute({ a: { b: [1, 1.5, 'x\n', null, true, {}] } }), {
    message:
      'error executing jsonpath "{.a[0]}\\"": Error executing template: ' +
      'map[string]interface {} is not array or slice. ' +
      'Printing more information for debugging the template:\n' +
      '\ttemplate was:\n\t\t{.a[0]}"\n' +
      '\tobject given to jsonpath engine was:\n' +
      '\t\tmap[string]interface {}{"a":map[string]interface {}{"b":[]interface {}' +
      '{1, 1.5, "x\\n", interface {}(nil), true, map[string]interface {}{}}}}\n\n\n',
  })
})

test('a relaxed JSONPath gets braces and a leading point', () => {
  assert.equal(relaxedJsonPath(''), '')
  for (const path of ['a.b', '.a.b', '{a.b}', '{.a.b}']) assert.equal(relaxedJsonPath(path), '{.a.b}')
  assert.equal(relaxedJsonPath('[0]'), '{.[0]}')
  assert.equal(relaxedJsonPath('..a'), '{..a}')
  for (const path of ['{a', 'a}', '{}', '{.a}{.b}']) {
    assert.throws(() => relaxedJsonPath(path), /unexpected path string/)
  }
})
