import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../errors.ts'
import type { Schema, StructSchema } from '../schema.ts'
import { strictDecode, strictErrorsMax, type StrictDecodeOptions } from './strict-decode.ts'

function struct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  const entries = Object.entries(fields).map(([key, schema]) => [key, { schema, required: false }] as const)
  return { type: 'struct', name, fields: new Map(entries), atomic: false, preserveUnknownFields: false }
}

const string = { type: 'string' } as const
const pod = struct('io.k8s.api.core.v1.Pod', {
  apiVersion: string,
  kind: string,
  spec: struct('io.k8s.api.core.v1.PodSpec', {
    node: string,
    labels: { type: 'map', values: string, atomic: false },
    raw: { type: 'any' },
  }),
})
const expected = { group: '', version: 'v1', kind: 'Pod' }
const json = 'application/json'
const yaml = 'application/yaml'
const strict: StrictDecodeOptions = { mediaType: json, schema: pod, fieldValidation: 'Strict', expected }

interface Request {
  readonly type?: string
  readonly options?: Partial<StrictDecodeOptions>
}

function run(body: string, { type = json, options = {} }: Request) {
  return strictDecode(Buffer.from(body), { ...strict, mediaType: type, ...options })
}

function refuses(body: string, message: string, request: Request = {}): void {
  assert.throws(
    () => run(body, request),
    (error: unknown) => {
      assert(error instanceof ApiError)
      assert.equal(error.message, message)
      assert.equal(error.code, 400)
      return true
    },
  )
}

const unrecognized = 'the object provided is unrecognized (must be of type Pod): '
const parseError = `${unrecognized}couldn't get version/kind; json parse error: `
const unhandled = 'Pod in version "v1" cannot be handled as a Pod: '

test('a decoded object gets the expected apiVersion and kind', () => {
  const value = { apiVersion: 'v1', kind: 'Pod', spec: { node: 'a' } }
  const complete = run('{"apiVersion":"v1","kind":"Pod","spec":{"node":"a"}}', {})
  assert.deepEqual(complete, { value, warnings: [] })
  for (const typeMeta of ['', '"kind":"Pod",', '"apiVersion":null,', '"apiVersion":"","kind":"",']) {
    const body = `{${typeMeta}"spec":{"node":"a"}}`
    assert.deepEqual(run(body, {}).value, value)
    assert.deepEqual(Object.keys(run(body, {}).value), ['apiVersion', 'kind', 'spec'])
  }
  assert.deepEqual(run('spec:\n  node: a', { type: 'application/yaml; charset=utf-8' }).value, value)
  assert.deepEqual(run('null', {}).value, { apiVersion: 'v1', kind: 'Pod' })
  assert.deepEqual(run('', { type: yaml }).value, { apiVersion: 'v1', kind: 'Pod' })
})

test('malformed bodies are rejected', () => {
  refuses('', `${parseError}unexpected end of JSON input (<empty>)`)
  refuses('{"a":', `${parseError}unexpected end of JSON input ({"a":)`)
  refuses('abc', `${parseError}invalid character 'a' looking for beginning of value (616263)`)
  refuses(
    `{"a":"${'x'.repeat(100)}`,
    `${parseError}unexpected end of JSON input ({"a":"${'x'.repeat(24)} ...)`,
  )
  refuses(
    '['.repeat(10_000) + ']'.repeat(10_000),
    `${parseError}exceeded max depth of 1000 (${'5b'.repeat(30)} ...)`,
  )
  refuses(
    'a: b: c',
    `${unrecognized}yaml: line 1: Nested mappings are not allowed in compact mappings (613a20623a2063)`,
    { type: yaml },
  )
})

test('oversized bodies and unsupported media types are rejected', () => {
  const code = (bytes: Uint8Array, type: string) => {
    try {
      strictDecode(bytes, { ...strict, mediaType: type })
    } catch (error) {
      assert(error instanceof ApiError)
      return `${error.code} ${error.message}`
    }
    return ''
  }
  assert.equal(code(Buffer.alloc(50_000_000, ' '), json), '413 Request entity too large: limit is 3145728')
  assert.equal(code(Buffer.alloc(50_000_000, ' '), yaml), '413 Request entity too large: limit is 3145728')
  assert.match(code(Buffer.from('{}'), 'text/plain'), /^415 /)
})

test('bodies of another kind or without kind are rejected', () => {
  refuses(
    '{"kind":1}',
    `${parseError}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})`,
  )
  const type = 'APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\""'
  refuses('[]', `${parseError}json: cannot unmarshal array into Go value of type struct { ${type} } (5b5d)`)
  refuses(
    '{"apiVersion":"a/b/c"}',
    `${unrecognized}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})`,
  )
  refuses(
    '{"apiVersion":"v1","kind":"Service"}',
    'Service in version "v1" cannot be handled as a Pod: ' +
      'converting (v1.Service) to (core.Pod): unknown conversion',
  )
  refuses(
    '{"apiVersion":"apps/v2","kind":"Pod"}',
    'the API version in the data (apps/v2) does not match the expected API version (v1)',
  )
  refuses(
    '{"apiVersion":"v1"}',
    `${unrecognized}Object 'Kind' is missing in '{"apiVersion":"v1"}' ({"apiVersion":"v1"})`,
    { options: { customResource: true } },
  )
})

test('fields of the wrong type are rejected', () => {
  refuses(
    '{"spec":{"node":1}}',
    `${unhandled}json: cannot unmarshal number into Go struct field PodSpec.spec.node of type string`,
  )
})

test('fieldValidation Strict, Warn and Ignore', () => {
  const body = '{"spec":{"node":"a","node":"b","nod":1},"foo":1}'
  const errors = ['unknown field "spec.nod"', 'unknown field "foo"', 'duplicate field "spec.node"']
  refuses(body, `${unhandled}strict decoding error: ${errors.join(', ')}`)
  const value = { apiVersion: 'v1', kind: 'Pod', spec: { node: 'b' } }
  assert.deepEqual(run(body, { options: { fieldValidation: 'Warn' } }), { value, warnings: errors })
  assert.deepEqual(run(body, { options: { fieldValidation: 'Ignore' } }), { value, warnings: [] })
})

test('duplicate YAML keys are reported with their lines', () => {
  const body = 'spec:\n  node: a\n  node: b\nfoo: 1\nfoo: 2'
  const lines = ['line 3: key "node" already set in map', 'line 5: key "foo" already set in map']
  const joined = ['yaml: unmarshal errors:', ...lines].join('\n  ')
  refuses(body, `${unhandled}strict decoding error: ${joined}, unknown field "foo"`, { type: yaml })
  const { warnings } = run(body, { type: yaml, options: { fieldValidation: 'Warn' } })
  assert.deepEqual(warnings, [...lines, 'unknown field "foo"'])
})

test('duplicate keys outside the schema are reported only for custom resources', () => {
  const spec = '{"raw":{"a":1,"a":2},"labels":{"x":"1","x":"2"}}'
  const body = `{"kind":"Pod","apiVersion":"v1","spec":${spec},"foo":1,"foo":{"b":1,"b":2}}`
  const warnings = (customResource: boolean) => {
    return run(body, { options: { fieldValidation: 'Warn', customResource } }).warnings
  }
  assert.deepEqual(warnings(false), ['unknown field "foo"', 'duplicate field "spec.labels.x"'])
  assert.deepEqual(warnings(true), [
    'unknown field "foo"',
    'duplicate field "spec.raw.a"',
    'duplicate field "spec.labels.x"',
    'duplicate field "foo"',
    'duplicate field "foo.b"',
  ])
})

test('reports of duplicate and unknown fields are bounded', () => {
  const members = Array.from({ length: 200_000 }, (_, index) => `"k${index % 100_000}":"x"`).join(',')
  const labels = run(`{"spec":{"labels":{${members}}}}`, { options: { fieldValidation: 'Warn' } })
  assert.equal(labels.warnings.length, strictErrorsMax)
  assert.equal(labels.warnings[0], 'duplicate field "spec.labels.k0"')
  assert.equal(run(`{${members}}`, { options: { fieldValidation: 'Warn' } }).warnings.length, strictErrorsMax)
})

test('fields named like prototype members are harmless in strict decoding', () => {
  const body = '{"__proto__":{"apiVersion":"v9","kind":"Evil"},"spec":{"labels":{"__proto__":"a"}}}'
  const { value, warnings } = run(body, { options: { fieldValidation: 'Warn' } })
  assert.equal(JSON.stringify(value), '{"apiVersion":"v1","kind":"Pod","spec":{"labels":{"__proto__":"a"}}}')
  assert.deepEqual(warnings, ['unknown field "__proto__"'])
})
