import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson, arbitraryText } from '../text/arbitrary-json.ts'
import { decode, unknownFieldsMax, type DecodeOptions } from './decode.ts'
import { DecodeError } from './decode-error.ts'
import { structDefinition } from '../definitions.ts'
import { parseJson } from '../text/json.ts'
import type { JsonValue } from '../text/json-value.ts'
import type { ListSchema, MapSchema, Schema, StructSchema } from '../schema.ts'

type Fields = Readonly<Record<string, Schema>>

function struct(name: string, fields: Fields, preserveUnknownFields = false): StructSchema {
  const entries = Object.entries(fields).map(([key, schema]) => [key, { schema, required: false }] as const)
  return { type: 'struct', name, fields: new Map(entries), atomic: false, preserveUnknownFields }
}

function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

function map(values: Schema): MapSchema {
  return { type: 'map', values, atomic: false }
}

const string = { type: 'string' } as const
const metadata = struct('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', {
  name: string,
  generation: { type: 'integer', format: 'int64' },
  creationTimestamp: { type: 'string', format: 'date-time' },
  labels: map(string),
})
const container = struct('io.k8s.api.core.v1.Container', {
  image: string,
  limits: map({ type: 'quantity' }),
  args: list(string),
  port: { type: 'int-or-string' },
  count: { type: 'integer', format: 'int32' },
  tty: { type: 'boolean' },
  weight: { type: 'number', format: 'double' },
})
const pod = struct('io.k8s.api.core.v1.Pod', {
  metadata,
  spec: struct('io.k8s.api.core.v1.PodSpec', {
    containers: list(container),
    data: map({ type: 'string', format: 'byte' }),
    renewTime: { type: 'string', format: 'date-time-micro' },
    raw: { type: 'any' },
    open: struct('io.k8s.api.core.v1.Open', { known: string }, true),
  }),
})
const custom = struct('com.example.v1.Custom', {
  apiVersion: string,
  metadata,
  spec: struct('', {
    size: { type: 'integer' },
    nested: list(struct('', { a: string })),
    open: struct('', {}, true),
  }),
})

function check(value: JsonValue, expected: JsonValue, unknownFields: readonly string[] = []): void {
  assert.deepEqual(decode(value, pod), { value: expected, unknownFields })
}

function refuses(value: JsonValue, message: string, schema = pod, options: DecodeOptions = {}): void {
  assert.throws(
    () => decode(value, schema, options),
    (error: unknown) => {
      assert(error instanceof DecodeError)
      assert.equal(error.message, message)
      return true
    },
  )
}

/** Options for records in which any field may be missing. */
const some: { requiredKeys: []; noNullPrototype: true } = { requiredKeys: [], noNullPrototype: true }

const inContainer = (fields: JsonValue): JsonValue => ({ spec: { containers: [fields] } })

test('decode returns a valid value itself', () => {
  const value = {
    metadata: { generation: 9007199254740993n, labels: {}, creationTimestamp: '2024-01-01T00:00:00Z' },
    spec: {
      containers: [{ image: 'i', limits: { cpu: '100m' }, args: ['a'], port: 80, tty: true, weight: 1.5 }],
      data: { a: 'aGk=' },
      renewTime: '2024-01-01T00:00:00.000001Z',
      raw: { any: [null] },
      open: { known: 'a', other: 1 },
    },
  }
  assert.equal(decode(value, pod).value, value)
})

test('decode shares unchanged parts with the input', () => {
  const containers: Record<string, JsonValue>[] = [{ image: 'a' }, { image: 'b', x: 1 }]
  const value = { metadata: { labels: { a: 'b' } }, spec: { containers } }
  const decoded = decode(value, pod).value as typeof value
  assert.deepEqual(decoded.spec, { containers: [{ image: 'a' }, { image: 'b' }] })
  assert.equal(decoded.metadata, value.metadata)
  assert.equal(decoded.spec.containers[0], value.spec.containers[0])
  assert.deepEqual(containers, [{ image: 'a' }, { image: 'b', x: 1 }])
})

test('unknown fields are dropped and reported with their paths', () => {
  check(
    { a: 1, spec: { b: {}, containers: [{}, { imagee: 'x' }], open: { c: 1 } } },
    { spec: { containers: [{}, {}], open: { c: 1 } } },
    ['a', 'spec.b', 'spec.containers[1].imagee'],
  )
  check({ Spec: {} }, {}, ['Spec'])
  check({ metadata: { labels: { 'a.b/c': 'd' }, Name: 'x' } }, { metadata: { labels: { 'a.b/c': 'd' } } }, [
    'metadata.Name',
  ])
})

test('fields and labels named like prototype members decode normally', () => {
  const labels = '{"labels":{"__proto__":"a","toString":"b"}}'
  const decoded = decode(parseJson(`{"__proto__":{"x":1},"constructor":1,"metadata":${labels}}`), pod)
  assert.deepEqual(decoded.unknownFields, ['__proto__', 'constructor'])
  assert.equal(JSON.stringify(decoded.value), `{"metadata":${labels}}`)
  const copied = decode(parseJson('{"metadata":{"labels":{"__proto__":"a","x":null}}}'), pod)
  assert.equal(JSON.stringify(copied.value), '{"metadata":{"labels":{"__proto__":"a","x":""}}}')
})

test('decode drops null fields and turns null items into zero values', () => {
  check({ metadata: { creationTimestamp: null, name: 'a' }, spec: null }, { metadata: { name: 'a' } })
  check(null, {})
  check(
    { spec: { containers: [null], data: { a: null }, raw: null } },
    { spec: { containers: [{}], data: { a: '' } } },
  )
  check(
    inContainer({ args: ['a', null], limits: { cpu: null } }),
    inContainer({ args: ['a', ''], limits: { cpu: '0' } }),
  )
})

test('decode omits empty fields unless keepsEmpty is set', () => {
  const container = {
    name: 'a',
    image: '',
    args: [],
    env: [{ name: '', value: '' }],
    tty: false,
    resources: {},
  }
  const probe = { exec: {}, timeoutSeconds: 0, terminationGracePeriodSeconds: 0 }
  const sent = {
    metadata: { name: '', labels: {}, annotations: { a: '' }, finalizers: [] },
    spec: {
      hostNetwork: false,
      automountServiceAccountToken: false,
      nodeSelector: {},
      affinity: {},
      tolerations: [],
      containers: [{ ...container, livenessProbe: probe }],
      volumes: [{ name: 'a', emptyDir: {}, projected: { sources: [] } }],
    },
  }
  const schema = structDefinition('core.v1.Pod')
  assert.deepEqual(decode(sent, schema).value, {
    metadata: { annotations: { a: '' } },
    spec: {
      automountServiceAccountToken: false,
      affinity: {},
      containers: [
        {
          name: 'a',
          env: [{ name: '' }],
          resources: {},
          livenessProbe: { exec: {}, terminationGracePeriodSeconds: 0 },
        },
      ],
      volumes: [{ name: 'a', emptyDir: {}, projected: { sources: [] } }],
    },
  })
  assert.equal(decode(sent, schema, { keepsEmpty: true }).value, sent)
  assert.throws(() => decode({ spec: { tolerations: '' } }, schema), DecodeError)
})

test('decode canonicalizes quantities, times and bytes', () => {
  check(
    inContainer({ limits: { a: 0.5, b: '1024Mi', c: 2, d: 9007199254740993n } }),
    inContainer({ limits: { a: '500m', b: '1Gi', c: '2', d: '9007199254740993' } }),
  )
  check(
    { metadata: { creationTimestamp: '2024-01-01T01:00:00.5+01:00' } },
    { metadata: { creationTimestamp: '2024-01-01T00:00:00Z' } },
  )
  check({ spec: { data: { a: 'aG\nk=', b: '' } } }, { spec: { data: { a: 'aGk=', b: '' } } })
  check(inContainer({ port: 'http' }), inContainer({ port: 'http' }))
})

test("type errors have Kubernetes' messages", () => {
  const cannot = (found: string, field: string, type: string) => {
    return `json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`
  }
  refuses({ spec: 'x' }, cannot('string', 'Pod.spec', 'v1.PodSpec'))
  refuses({ spec: { containers: {} } }, cannot('object', 'PodSpec.spec.containers', '[]v1.Container'))
  refuses({ spec: { containers: ['x'] } }, cannot('string', 'PodSpec.spec.containers', 'v1.Container'))
  refuses(inContainer({ image: 1 }), cannot('number', 'Container.spec.containers.image', 'string'))
  refuses(inContainer({ image: [] }), cannot('array', 'Container.spec.containers.image', 'string'))
  refuses(inContainer({ count: '1' }), cannot('string', 'Container.spec.containers.count', 'int32'))
  refuses(inContainer({ count: 1.5 }), cannot('number 1.5', 'Container.spec.containers.count', 'int32'))
  refuses(
    inContainer({ count: 2 ** 31 }),
    cannot('number 2147483648', 'Container.spec.containers.count', 'int32'),
  )
  refuses(inContainer({ port: true }), cannot('bool', 'Container.spec.containers.port', 'int32'))
  refuses(inContainer({ tty: 'true' }), cannot('string', 'Container.spec.containers.tty', 'bool'))
  refuses(inContainer({ weight: '1' }), cannot('string', 'Container.spec.containers.weight', 'float64'))
  refuses({ metadata: { labels: { a: 1 } } }, cannot('number', 'ObjectMeta.metadata.labels', 'string'))
  refuses({ metadata: { labels: [] } }, cannot('array', 'ObjectMeta.metadata.labels', 'map[string]string'))
  refuses(
    { metadata: { generation: 1e19 } },
    cannot('number 10000000000000000000', 'ObjectMeta.metadata.generation', 'int64'),
  )
  refuses({ spec: { data: { a: 1 } } }, cannot('number', 'PodSpec.spec.data', '[]uint8'))
  refuses([], 'json: cannot unmarshal array into Go value of type v1.Pod')
})

test('invalid quantities, times and base64 have their own messages', () => {
  const pattern = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
  const quantity = `quantities must match the regular expression '${pattern}'`
  refuses(inContainer({ limits: { cpu: 'x' } }), quantity)
  refuses(inContainer({ limits: { cpu: {} } }), quantity)
  const time = (text: string, rest: string, part: string) => {
    return `parsing time "${text}" as "2006-01-02T15:04:05Z07:00": cannot parse "${rest}" as "${part}"`
  }
  const created = (text: string) => ({ metadata: { creationTimestamp: text } })
  refuses(created(''), time('', '', '2006'))
  refuses(created('2024-01-01'), time('2024-01-01', '', 'T'))
  refuses(created('2024-01-01T00:00:00'), time('2024-01-01T00:00:00', '', 'Z07:00'))
  refuses(created('2024-13-01T00:00:00Z'), 'parsing time "2024-13-01T00:00:00Z": out of range')
  refuses(created('2024-01-01T00:00:00Zx'), 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"')
  refuses({ spec: { data: { a: 'aGk' } } }, 'illegal base64 data at input byte 0')
  refuses({ spec: { data: { a: 'aG*=' } } }, 'illegal base64 data at input byte 2')
  refuses({ spec: { data: { a: 'aGk=aGk=' } } }, 'illegal base64 data at input byte 4')
})

test('custom resources keep empty fields, and their metadata is decoded strictly', () => {
  const options = { customResource: true }
  const spec = { size: 'x', nested: [null, { a: null, b: 1 }, 1], open: { c: 1 } }
  assert.deepEqual(decode({ apiVersion: 1, spec, foo: 1 }, custom, options), {
    value: { apiVersion: 1, spec: { ...spec, nested: [null, { a: null }, 1] } },
    unknownFields: ['spec.nested[1].b', 'foo'],
  })
  assert.deepEqual(decode({ spec: null, metadata: null }, custom, options).value, { spec: null })
  assert.deepEqual(decode({ spec: 'x' }, custom, options).value, { spec: 'x' })
  const field = 'ObjectMeta.metadata.labels'
  refuses(
    { metadata: { labels: { a: 1 } } },
    `json: cannot unmarshal number into Go struct field ${field} of type string`,
    custom,
    options,
  )
  refuses('x', 'json: cannot unmarshal string into Go value of type v1.Custom', custom, options)
})

test('100,000 unknown fields are all dropped, and reported up to the bound', () => {
  const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`x${index}`, 1]))
  const decoded = decode({ ...value, ['y'.repeat(1_000_000)]: 1 }, pod)
  assert.deepEqual(decoded.value, {})
  assert.equal(decoded.unknownFields.length, unknownFieldsMax)
  assert.deepEqual(decode({ ['y'.repeat(1_000_000)]: 1 }, pod).unknownFields, [`${'y'.repeat(1_000)}...`])
})

test('decode rejects values nested 10,000 levels deep', () => {
  const fields = new Map<string, { schema: Schema; required: boolean }>()
  const recursive: StructSchema = { ...struct('io.x.v1.JSONSchemaProps', {}), fields }
  fields.set('not', { schema: recursive, required: false })
  let value: JsonValue = {}
  for (let level = 0; level < 10_000; level++) value = { not: value }
  refuses(value, 'exceeded max depth of 1000', recursive)
})

test('decode returns the identical object for random valid values', () => {
  const members = (values: fc.Arbitrary<string>) => {
    return fc.dictionary(arbitraryText, values, { noNullPrototype: true })
  }
  const integer = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
  const container = fc.record(
    {
      image: arbitraryText,
      limits: members(fc.constantFrom('1', '500m', '1Gi')),
      args: fc.array(arbitraryText, { maxLength: 2 }),
      port: fc.oneof(integer, arbitraryText),
      count: integer,
      tty: fc.boolean(),
    },
    some,
  )
  const valid = fc.record(
    {
      metadata: fc.record({ generation: fc.maxSafeInteger(), labels: members(arbitraryText) }, some),
      spec: fc.record(
        {
          containers: fc.array(container, { maxLength: 2 }),
          data: members(fc.uint8Array().map(bytes => Buffer.from(bytes).toString('base64'))),
          raw: arbitraryJson.filter(value => value !== null),
        },
        some,
      ),
    },
    some,
  )
  fc.assert(
    fc.property(valid, value => {
      const decoded = decode(value, pod)
      assert.equal(decoded.value, value)
      assert.deepEqual(decoded.unknownFields, [])
    }),
    { numRuns: 150 },
  )
})

test('decode is idempotent or throws DecodeError', () => {
  const meaningful = fc.constantFrom('1.5', '1000m', '2024-01-01T00:00:00+01:00', 'aGk=', 1, 2 ** 40)
  const scalar = fc.oneof(arbitraryJson, arbitraryText, { arbitrary: meaningful, weight: 4 })
  const members = fc.dictionary(arbitraryText, scalar, { noNullPrototype: true })
  const container = fc.record({ image: scalar, port: scalar, limits: members }, some)
  const containers = fc.array(container, { maxLength: 3 })
  const values = fc.record(
    {
      metadata: fc.record({ generation: scalar, creationTimestamp: scalar, labels: scalar }, some),
      spec: fc.record({ containers, data: members, raw: scalar }, some),
    },
    some,
  )
  fc.assert(
    fc.property(fc.oneof(values, arbitraryJson), value => {
      const before = structuredClone(value)
      try {
        const once = decode(value, pod)
        const twice = decode(once.value, pod)
        assert.equal(twice.value, once.value)
        assert.deepEqual(twice.unknownFields, [])
      } catch (error) {
        assert(error instanceof DecodeError, String(error))
      }
      assert.deepEqual(value, before)
    }),
    { numRuns: 150 },
  )
})
