import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources } from './builtin.ts'
import { DecodeError, type DecodeErrorReason } from './decoding/decode-error.ts'
import type { JsonObject } from './text/json-object.ts'
import {
  decodeProtobuf,
  decodeProtobufWatchEvent,
  encodeProtobuf,
  protobufListFrame,
  encodeProtobufWatchEvent,
  hasProtobuf,
  WatchFrames,
} from './protobuf.ts'
import { wire, wireObject } from './protobuf/testdata/wire.ts'

/** An object of the kind `apps/v1 Deployment` with these fields. */
function object(typeMeta: string, fields: JsonObject): JsonObject {
  const [apiVersion = '', kind = ''] = typeMeta.split(' ')
  return { apiVersion, kind, ...fields }
}

function bytesOf(typeMeta: string, message: string): Uint8Array {
  const [apiVersion = '', kind = ''] = typeMeta.split(' ')
  return wireObject(apiVersion, kind, message)
}

/** Empty metadata up to the creation timestamp: Go writes zero values. */
const noMetadata = '0a(0a"" 12"" 1a"" 22"" 2a"" 32"" 38 00 42"")'
const named = '0a(0a"web" 12"" 1a"" 22"" 2a"" 32"" 38 00 42"")'

test("protobuf encoding equals Go's and round trips", () => {
  const check = (typeMeta: string, fields: JsonObject, message: string): void => {
    const expected = bytesOf(typeMeta, message)
    const written = encodeProtobuf(object(typeMeta, fields))
    assert.equal(Buffer.from(written).toString('hex'), Buffer.from(expected).toString('hex'), message)
    assert.deepEqual(decodeProtobuf(expected), object(typeMeta, fields))
  }
  const metadata = { name: 'web' }
  check('v1 ConfigMap', {}, noMetadata)
  check('v1 ConfigMap', { metadata }, named)
  check(
    'v1 ConfigMap',
    { metadata, data: { a: '1', b: '' }, immutable: false },
    `${named} 12(0a"a" 12"1") 12(0a"b" 12"") 20 00`,
  )
  check('v1 ConfigMap', { metadata, binaryData: { a: 'AQI=' } }, `${named} 1a(0a"a" 12(01 02))`)
  check(
    'v1 ConfigMap',
    { metadata: { creationTimestamp: '1970-01-01T00:00:01Z' } },
    '0a(0a"" 12"" 1a"" 22"" 2a"" 32"" 38 00 42(08 01 10 00))',
  )
  check(
    'coordination.k8s.io/v1 Lease',
    { metadata, spec: { renewTime: '1970-01-01T00:00:01.000002Z' } },
    `${named} 12(22(08 01 10 d0 0f))`,
  )
  check(
    'policy/v1 PodDisruptionBudget',
    { spec: { minAvailable: 3, maxUnavailable: '50%' } },
    `${noMetadata} 12(0a(08 00 10 03 1a"") 1a(08 01 10 00 1a"50%")) 1a(08 00 18 00 20 00 28 00 30 00)`,
  )
  check(
    'v1 ResourceQuota',
    { spec: { hard: { pods: '10' } } },
    `${noMetadata} 12(0a(0a"pods" 12(0a"10"))) 1a()`,
  )
  check(
    'apps/v1 ControllerRevision',
    { metadata, data: { a: [1] }, revision: 2 },
    `${named} 12(0a(7b 22 61 22 3a 5b 31 5d 7d)) 18 02`,
  )
  check(
    'v1 Status',
    { status: 'Failure', code: 404, details: { name: 'x', retryAfterSeconds: 1 } },
    '0a(0a"" 12"" 1a"") 12"Failure" 1a"" 22"" 2a(0a"x" 12"" 1a"" 28 01 32"") 30 94 03',
  )
  check('apps/v1 DeleteOptions', { gracePeriodSeconds: 0, preconditions: { uid: '' } }, '08 00 12(0a"")')
  const status = { user: { extra: { a: ['b', ''] } } }
  check(
    'authentication.k8s.io/v1 TokenReview',
    { metadata, spec: { token: 't' }, status },
    `${named} 12(0a"t") 1a(08 00 12(0a"" 12"" 22(0a"a" 12(0a"b" 0a""))) 1a"")`,
  )
  check('meta.k8s.io/v1 PartialObjectMetadata', { metadata }, named)
  const items = [{ metadata }]
  check(
    'meta.k8s.io/v1 PartialObjectMetadataList',
    { metadata: { resourceVersion: '7' }, items },
    `0a(0a"" 12"7" 1a"") 12(${named})`,
  )
  check('meta.k8s.io/v1beta1 PartialObjectMetadataList', { items }, `0a(${named}) 12(0a"" 12"" 1a"")`)
})

test('embedded protobuf messages are inlined', () => {
  const volumes: JsonObject[] = [
    { name: 'a', emptyDir: {} },
    { name: 'b', configMap: { name: 'c' } },
  ]
  const containers = [{ name: 'd', livenessProbe: { tcpSocket: { port: 'http' } } }]
  const pod = object('v1 Pod', { spec: { volumes, containers } })
  assert.deepEqual(decodeProtobuf(encodeProtobuf(pod)), pod)
  const volume = wire('12(0a(0a"a" 12(12(0a""))) 0a(0a"b" 12(9a 01(0a(0a"c")))))')
  assert.ok(Buffer.from(encodeProtobuf(pod)).includes(Buffer.from(volume.subarray(2))))
})

test('zero values of non-pointer fields are absent unless required', () => {
  const check = (port: JsonObject, expected: JsonObject): void => {
    const service = object('v1 Service', { spec: { ports: [port] } })
    const back = object('v1 Service', { spec: { ports: [expected] } })
    assert.deepEqual(decodeProtobuf(encodeProtobuf(service)), back)
  }
  check({ port: 0, name: '', targetPort: 0, nodePort: 0, appProtocol: '' }, { port: 0, appProtocol: '' })
  check({ port: 80, targetPort: '' }, { port: 80, targetPort: '' })
  check({}, { port: 0 })
})

test('empty structs of non-pointer fields are absent unless required or shown', () => {
  const check = (typeMeta: string, fields: JsonObject, expected: JsonObject): void => {
    assert.deepEqual(decodeProtobuf(encodeProtobuf(object(typeMeta, fields))), object(typeMeta, expected))
  }
  check('v1 Pod', { metadata: {}, spec: { containers: [] }, status: {} }, {})
  check(
    'v1 Pod',
    { spec: { containers: [{ name: '', resources: {} }], securityContext: {} } },
    { spec: { containers: [{ name: '' }], securityContext: {} } },
  )
  check(
    'networking.k8s.io/v1 NetworkPolicy',
    { spec: { policyTypes: ['Ingress'] } },
    { spec: { policyTypes: ['Ingress'], podSelector: {} } },
  )
  check(
    'apps/v1 Deployment',
    { spec: { replicas: 0, selector: {} } },
    { spec: { replicas: 0, selector: {}, template: {} } },
  )
  check('v1 ConfigMapList', {}, { items: [] })
})

test('protobuf encodes maps in key order', () => {
  const one = object('v1 ConfigMap', { data: { b: '', a: '', 10: '', 9: '' } })
  const other = object('v1 ConfigMap', { data: { 10: '', 9: '', a: '', b: '' } })
  assert.deepEqual(encodeProtobuf(one), encodeProtobuf(other))
})

test('protobuf keeps the unions of JSONSchemaProps', () => {
  const openAPIV3Schema: JsonObject = {
    'type': 'object',
    'additionalProperties': false,
    'default': { a: 1 },
    'enum': [null, 1, 'x', 9_007_199_254_740_993n],
    'maximum': 1.5,
    'x-kubernetes-preserve-unknown-fields': true,
    'dependencies': { a: ['b'], c: { $ref: 'd' } },
    'properties': {
      a: { items: [{ type: 'string' }, {}], additionalItems: true },
      b: { items: { type: 'string' }, additionalProperties: { minLength: 0 } },
    },
  }
  const versions = [{ name: 'v1', served: true, storage: false, schema: { openAPIV3Schema } }]
  const spec = { group: 'a', scope: 'Cluster', names: { plural: 'b', kind: 'C' }, versions }
  const definition = object('apiextensions.k8s.io/v1 CustomResourceDefinition', { spec })
  assert.deepEqual(decodeProtobuf(encodeProtobuf(definition)), definition)
})

function joinedList(list: Parameters<typeof protobufListFrame>[0], items: readonly Uint8Array[]): Buffer {
  const { start, item, end } = protobufListFrame(list, items)
  return Buffer.concat([start, ...items.flatMap(item), end])
}

test('a list of encoded items is the list encoded', () => {
  const names = ['a', 'b', 'c'.repeat(300)]
  const items = names.map(name => object('v1 ConfigMap', { metadata: { name }, data: { a: name } }))
  const head = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: '7' } }
  const joined = joinedList(head, items.map(encodeProtobuf))
  assert.deepEqual(joined, Buffer.from(encodeProtobuf({ ...head, items })))
  assert.deepEqual(
    decodeProtobuf(joinedList({ apiVersion: 'v1', kind: 'PodList' }, [])),
    object('v1 PodList', { items: [] }),
  )
  const metadata = { name: 'a' }
  const partial = object('meta.k8s.io/v1beta1 PartialObjectMetadata', { metadata })
  const partials = object('meta.k8s.io/v1beta1 PartialObjectMetadataList', { items: [{ metadata }] })
  const typeMeta = { apiVersion: 'meta.k8s.io/v1beta1', kind: 'PartialObjectMetadataList' }
  assert.deepEqual(decodeProtobuf(joinedList(typeMeta, [encodeProtobuf(partial)])), partials)
})

test('a watch event frame is a length and a message that contains an enveloped object', () => {
  const configMap = object('v1 ConfigMap', { metadata: { name: 'web' } })
  const bytes = encodeProtobuf(configMap)
  const frame = encodeProtobufWatchEvent({ type: 'ADDED', object: bytes })
  const inner = Buffer.from(bytes).toString('hex')
  assert.deepEqual(Buffer.from(frame), Buffer.from(wire(`00 00 00 3b 0a"ADDED" 12(0a(${inner}))`)))
  const [message] = new WatchFrames().push(frame)
  assert.deepEqual(decodeProtobufWatchEvent(message!), { type: 'ADDED', object: configMap })
  assert.throws(() => decodeProtobufWatchEvent(wire('0a"ADDED"')), isRefused('syntax'))
})

test('every built-in kind, list kind and subresource kind has a protobuf codec', () => {
  for (const resource of builtinResources()) {
    const { group, version, kind, listKind, subresources } = resource
    assert.ok(hasProtobuf({ group, version, kind }), kind)
    assert.ok(listKind === undefined || hasProtobuf({ group, version, kind: listKind }), kind)
    for (const part of subresources.values()) {
      assert.ok(part.kind.endsWith('Options') || hasProtobuf(part), `${kind} ${part.name}`)
    }
  }
  assert.ok(!hasProtobuf({ group: 'example.com', version: 'v1', kind: 'Widget' }))
  assert.ok(!hasProtobuf({ group: 'meta.k8s.io', version: 'v1', kind: 'Table' }))
  assert.ok(!hasProtobuf({ group: '', version: 'v1', kind: 'Container' }))
  assert.ok(!hasProtobuf({ group: '', version: 'v1', kind: '__proto__' }))
})

test('an object without kind gets the expected one', () => {
  const expected = { group: 'apps', version: 'v1', kind: 'Deployment' }
  const back = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } }
  for (const typeMeta of [' ', ' Deployment', 'apps/v1 ', 'apps/ ']) {
    assert.deepEqual(decodeProtobuf(bytesOf(typeMeta, named), expected), back, typeMeta)
  }
  const other = decodeProtobuf(bytesOf('v1 ConfigMap', named), expected)
  assert.deepEqual(other, object('v1 ConfigMap', { metadata: { name: 'web' } }))
  assert.throws(() => decodeProtobuf(bytesOf('v1 ', named)), /Object 'Kind' is missing/)
  assert.throws(() => decodeProtobuf(bytesOf(' Pod', named)), /Object 'apiVersion' is missing/)
})

function isRefused(reason: DecodeErrorReason): (error: unknown) => boolean {
  return error => error instanceof DecodeError && error.reason === reason
}
