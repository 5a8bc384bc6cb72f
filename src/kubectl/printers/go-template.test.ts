import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { bytesOfText } from './byte-text.ts'
import { GoTemplateError, parseGoTemplate } from './go-template.ts'
/** Templates with the results of kubectl. */
import recorded from './testdata/go-template.json' with { type: 'json' }

const object: JsonValue = {
  kind: 'List',
  name: 'web',
  n: 3,
  f: 1.5,
  ready: true,
  nothing: null,
  empty: '',
  none: [],
  list: [1, 2, 3],
  mixed: [1, 'x', null, true, 1.5, { k: 1 }, [1]],
  floats: [0.1, 2.5, 1e-7, 123456789.125, 1e21],
  map: { 'b': 2, 'a': { x: { y: 'deep' } }, 'c-d': 'dashed' },
  items: [{ name: 'i1', tags: ['t'] }, { name: 'i2' }],
  text: `é<b> "q" 's' & =\t`,
  encoded: 'aGVsbG8=',
  binary: '/wD+',
  big: 12345678901234567n,
}

function check(cases: keyof typeof recorded, resultOf: (template: string) => string): void {
  assert.ok(recorded[cases].length > 0)
  for (const [template = '', expected] of recorded[cases])
    assert.equal(resultOf(template), expected, template)
}

function execute(text: string, allowMissingKeys = true): string {
  return parseGoTemplate(text, { name: 'output', allowMissingKeys }).execute(object)
}

/** The reason, without the template. */
function failureOf(text: string, allowMissingKeys = true): string {
  try {
    return `no failure: ${execute(text, allowMissingKeys)}`
  } catch (error) {
    if (error instanceof GoTemplateError)
      return error.message.slice(error.message.indexOf('template: output'))
    throw error
  }
}

test('a Go template prints what kubectl prints', () => check('outputs', template => execute(template)))

test('printf formats as Go does', () => check('formats', template => execute(template)))

test('an invalid Go template is rejected with the message of Go', () => {
  check('syntaxErrors', template => failureOf(template))
})

test('a Go template that does not fit the object fails with the message of Go', () => {
  check('failures', template => failureOf(template))
})

test('missing keys are an error unless they are allowed', () => {
  check('strictResults', template => failureOf(template, false))
})

test('a failing Go template has printed what helps to debug it', () => {
  const template = parseGoTemplate('out\n{{.a.b.c}}', { name: 'output', allowMissingKeys: true })
  const reason =
    'template: output:2:4: executing "output" at <.a.b.c>: can\'t evaluate field c in type interface {}'
  assert.throws(() => template.execute({ z: '<', a: { b: 1 } }), {
    message: `error executing template "out\\n{{.a.b.c}}": ${reason}`,
    output:
      `out\nError executing template: ${reason}. Printing more information for debugging the template:\n` +
      '\ttemplate was:\n\t\tout\n{{.a.b.c}}\n' +
      '\traw data was:\n\t\t{"a":{"b":1},"z":"\\u003c"}\n' +
      '\tobject given to template engine was:\n\t\tmap[a:map[b:1] z:<]\n\n',
  })
})

test('bytes that are not text are printed without loss', () => {
  assert.deepEqual([...bytesOfText(execute('{{base64decode .binary}}é'))], [0xff, 0, 0xfe, 0xc3, 0xa9])
  assert.equal(execute('{{base64decode .binary | len}} {{index (base64decode .binary) 2}}'), '3 254')
})

test('a Go template that nests or repeats without end fails', () => {
  const recursive = '{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}'
  assert.match(failureOf(recursive), /exceeded maximum template depth \(100000\)$/)
  assert.match(failureOf(`{{${'('.repeat(10_000)}`), /max expression depth exceeded$/)
  assert.match(failureOf('{{if 1}}'.repeat(10_000)), /max expression depth exceeded$/)
  assert.match(failureOf('{{range 9000000000000}}{{end}}'), /exceeds 10000000 iterations$/)
})
