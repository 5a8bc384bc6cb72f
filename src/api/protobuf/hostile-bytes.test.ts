import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecodeError, type DecodeErrorReason } from '../decoding/decode-error.ts'
import type { JsonObject } from '../text/json-object.ts'
import { decodeProtobuf, encodeProtobuf } from '../protobuf.ts'
import type { TypeMeta } from '../decoding/type-meta.ts'
import { writeHead } from './envelope.ts'
import { numberedFields } from './field-numbers.ts'
import { encodeWith } from './spare-writer.ts'
import { wire, wireObject } from './testdata/wire.ts'

function refuse(bytes: Uint8Array, reason: DecodeErrorReason, message: RegExp): void {
  assert.throws(
    () => decodeProtobuf(bytes),
    error => {
      assert.ok(error instanceof DecodeError, String(error))
      assert.equal(error.reason, reason)
      assert.match(error.message, message)
      return true
    },
  )
}

test('invalid protobuf envelopes are rejected', () => {
  refuse(wire(''), 'syntax', /empty data/)
  refuse(wire('6b 38 73 00'), 'syntax', /empty body/)
  refuse(wire('6b 38 73'), 'syntax', /not appear to be a protobuf message, expected prefix \[107 56 115 0\]/)
  refuse(Buffer.from('{"kind":"Pod"}'), 'syntax', /does not appear to be a protobuf message/)
  refuse(wire('6b 38 73 00 0a 7f'), 'syntax', /unexpected end of input/)
  refuse(wireObject('v1', 'Nothing', ''), 'type', /no kind "Nothing" is registered for version "v1"/)
  refuse(wireObject('v1', 'constructor', ''), 'type', /no kind "constructor"/)
  refuse(wireObject('a/b/c', 'Pod', ''), 'type', /unexpected GroupVersion string: a\/b\/c/)
  refuse(wireObject('v1', 'x'.repeat(5_000), ''), 'type', /no kind "x{100}\.\.\." /)
})

test('invalid protobuf scalar values are rejected', () => {
  const quota = (text: string) => wireObject('v1', 'ResourceQuota', `12(0a(0a"pods" 12(0a"${text}")))`)
  assert.deepEqual(decodeProtobuf(quota('0.5'))['spec'], { hard: { pods: '500m' } })
  refuse(quota('many'), 'syntax', /invalid quantity/)
  const created = (time: string) => wireObject('v1', 'ConfigMap', `0a(42(${time}))`)
  refuse(created('08 ff ff ff ff ff ff ff 0f'), 'syntax', /out of range/)
  refuse(created('08 ff ff ff ff ff ff ff ff 7f'), 'syntax', /integer out of range/)
  refuse(wireObject('v1', 'Service', '12(0a(22(08 02)))'), 'syntax', /invalid IntOrString type/)
  refuse(wireObject('apps/v1', 'ControllerRevision', '12(0a"{")'), 'syntax', /JSON/)
  refuse(wireObject('v1', 'ConfigMap', '0a(0a(ff))'), 'syntax', /UTF-8/)
})

test('protobuf times accept any nanoseconds, and zero times are absent', () => {
  const check = (time: string, renewTime: string | undefined): void => {
    const lease = decodeProtobuf(wireObject('coordination.k8s.io/v1', 'Lease', `12(22(${time}))`))
    assert.deepEqual(lease['spec'], renewTime === undefined ? undefined : { renewTime })
  }
  check('08 01 10 ff ff ff ff 07', '1970-01-01T00:00:03.147483Z')
  check('08 01 10 ff ff ff ff ff ff ff ff ff 01', '1970-01-01T00:00:00.999999Z')
  check('', undefined)
  check('08 80 92 b8 c3 98 fe ff ff ff 01 10 00', undefined)
})

test('unknown fields and unexpected wire types are skipped', () => {
  const unknown = '98 06 01 a2 06"text" a9 06 01 02 03 04 05 06 07 08 ad 06 01 02 03 04 b3 06 08 01 b4 06'
  const message = `${unknown} 0a(0a"web" 10 05 ${unknown}) 22"x" 12(0a"a" 12"b" 18 01)`
  assert.deepEqual(decodeProtobuf(wireObject('v1', 'ConfigMap', message)), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web' },
    data: { a: 'b' },
  })
})

test('repeated scalars: last wins; messages merge; numbers may be packed', () => {
  const message = '0a(0a"old" 1a"space") 0a(0a"new" 1a"")'
  assert.deepEqual(decodeProtobuf(wireObject('v1', 'ConfigMap', message))['metadata'], { name: 'new' })
  const groups = '12(72(22(01 02) 20 03))'
  assert.deepEqual(decodeProtobuf(wireObject('v1', 'Pod', groups))['spec'], {
    securityContext: { supplementalGroups: [1, 2, 3] },
    containers: [],
  })
})

test('protobuf map entries may omit key or value', () => {
  const data = '12() 12(12"a") 12(0a"b") 12(0a"__proto__" 12"c") 12(0a"constructor" 12"d")'
  const decoded = decodeProtobuf(wireObject('v1', 'ConfigMap', data))['data'] as JsonObject
  assert.deepEqual(Object.entries(decoded), [
    ['', 'a'],
    ['b', ''],
    ['__proto__', 'c'],
    ['constructor', 'd'],
  ])
  assert.equal(Object.getPrototypeOf(decoded), Object.prototype)
  assert.equal((Object.prototype as JsonObject)['c'], undefined)
})

test('protobuf accepts schemas nested as deep as JSON', () => {
  let schema: JsonObject = { type: 'string' }
  for (let level = 0; level < 990; level++) schema = { items: schema }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }]
  const spec = { group: 'a', names: { kind: 'A', plural: 'as' }, scope: 'Cluster', versions }
  const bytes = encodeProtobuf({ ...crd, spec })
  assert.deepEqual(encodeProtobuf(decodeProtobuf(bytes)), bytes)
})

test('protobuf messages nested too deep are rejected', () => {
  const path = [
    tagOf('CustomResourceDefinition', 'spec'),
    tagOf('CustomResourceDefinitionSpec', 'versions'),
    tagOf('CustomResourceDefinitionVersion', 'schema'),
    tagOf('CustomResourceValidation', 'openAPIV3Schema'),
    ...Array.from({ length: 3_000 }, () => tagOf('JSONSchemaProps', 'not')),
  ]
  const message = path.reduceRight(
    (inner: Uint8Array, tag) =>
      encodeWith(writer => {
        writer.uint32(tag)
        writer.bytes(inner)
      }),
    new Uint8Array(0),
  )
  refuse(envelope(crd, message), 'syntax', /nested too deep/)
})

test('decoding cost depends on the actual, not the declared size', () => {
  refuse(wire('6b 38 73 00 12 ff ff ff ff 0f 00 00'), 'syntax', /unexpected end of input/)
  refuse(wireObject('v1', 'PodList', '12 ff ff ff ff 07'), 'syntax', /unexpected end of input/)
  const unknown = envelope({ apiVersion: 'v1', kind: 'PodList' }, Buffer.alloc(2_000_000, wire('7a 00')))
  assert.deepEqual(decodeProtobuf(unknown)['items'], [])
})

const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }

function tagOf(message: string, field: string): number {
  const { number } = numberedFields(`apiextensions.v1.${message}`)!.find(({ name }) => name === field)!
  return number * 8 + 2
}

function envelope(typeMeta: TypeMeta, message: Uint8Array): Uint8Array {
  return encodeWith(writer => {
    writeHead(writer, typeMeta)
    writer.bytes(message)
  })
}
