import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseCustomColumns, parseCustomColumnsFile, type CustomColumns } from './custom-columns.ts'
import { tableWidths, TabWriter } from './tab-writer.ts'

const object: JsonValue = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', labels: { app: 'web' } },
  list: [1, 'two', null],
  map: { b: [1, { c: true }], a: 1.5 },
  nothing: null,
  text: 'tab\there \u001b[31m\r\n',
  flag: true,
}

function print(columns: CustomColumns): string {
  let printed = ''
  const writer = new TabWriter({ ...tableWidths, write: text => (printed += text) })
  writer.write(`${columns.headers.join('\t')}\n${columns.row(object).join('\t')}\n`)
  writer.flush()
  return printed
}

type Cases = readonly (readonly [spec: string, result: string])[]

/** Recorded from kubectl, as all results below. */
const outputs: Cases = [
  ['NAME:.metadata.name', 'NAME\nweb-0\n'],
  ['NAME:metadata.name,LABELS:{.metadata.labels}', 'NAME    LABELS\nweb-0   map[app:web]\n'],
  ['A:{kind},B:.missing', 'A     B\nPod   <none>\n'],
  [
    'LIST:.list[*],MAP:.map,NIL:.nothing',
    'LIST          MAP                            NIL\n1,two,<nil>   map[a:1.5 b:[1 map[c:true]]]   <nil>\n',
  ],
  ['X:.list', 'X\n[1 two <nil>]\n'],
  ['T:.flag,U:.text', 'T      U\ntrue   tab   here ^[[31m\\r\n\n'],
  [
    'A:.metadata.labels.app,VERY-LONG-HEADER:.kind,C:.list[1]',
    'A     VERY-LONG-HEADER   C\nweb   Pod                two\n',
  ],
  [':.kind', '\nPod\n'],
]

test('custom columns print what kubectl prints', () => {
  for (const [spec, output] of outputs) assert.equal(print(parseCustomColumns(spec)), output, spec)
})

const files: Cases = [
  ['NAME KIND\n.metadata.name .kind\n', 'NAME    KIND\nweb-0   Pod\n'],
  ['  NAME\t KIND  \n {metadata.name}   kind\nignored', 'NAME    KIND\nweb-0   Pod\n'],
  ['A\r\n.kind\r\n', 'A\nPod\n'],
  ['A\n.kind', 'A\nPod\n'],
]

test('custom columns are read from a file', () => {
  for (const [text, output] of files) assert.equal(print(parseCustomColumnsFile(text)), output, text)
})

const invalid: Cases = [
  ['NAME', 'unexpected custom-columns spec: NAME, expected <header>:<json-path-expr>'],
  ['', 'custom-columns format specified but no custom columns given'],
  ['A:.x,B', 'unexpected custom-columns spec: B, expected <header>:<json-path-expr>'],
  [
    'A:{.a}{.b}',
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  ],
  [
    'A:{.a',
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  ],
]

test('an invalid specification of columns is rejected', () => {
  for (const [spec, message] of invalid) assert.throws(() => parseCustomColumns(spec), { message }, spec)
})

const expectedLines =
  'Expected format is one line of space separated headers, one line of space separated column specs.'

const invalidFiles: Cases = [
  ['', `invalid template, missing header line. ${expectedLines}`],
  ['A B\n', `invalid template, missing spec line. ${expectedLines}`],
  ['A B', `invalid template, missing spec line. ${expectedLines}`],
  ['A B\n.a\n', "number of headers (2) and field specifications (1) don't match"],
  [
    'A\n{.a',
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  ],
]

test('an invalid file of columns is rejected', () => {
  for (const [text, message] of invalidFiles)
    assert.throws(() => parseCustomColumnsFile(text), { message }, text)
})

const unprintable: Cases = [
  ['A:.x[', 'unterminated array'],
  ['A:.list[?(@=="two")]', 'incompatible types for comparison'],
  ['A:.list[9]', 'array index out of bounds: index 9, length 3'],
  ['A:.kind[0]', 'string is not array or slice'],
]

test('a path that is invalid or does not fit fails when a row is printed', () => {
  for (const [spec, message] of unprintable) {
    const columns = parseCustomColumns(spec)
    assert.throws(() => columns.row(object), { message }, spec)
  }
})
