import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  applyConfiguration,
  ignoreManagedFieldsTimestamps,
  excludeFields,
  extractApplied,
  trackUpdate,
} from './apply.ts'
import { managedFieldsOf } from './apply/managed-fields.ts'
import { asMap, type JsonObject } from './apply/structure.ts'
import { History } from './apply/testdata/history.ts'
import { configMapSchema, customSchema, deploymentSchema } from './apply/testdata/schemas.ts'
import { isApiError, type ApiError } from './errors.ts'
import { deepFreeze, type JsonValue } from './text/json-value.ts'

const deployments = { schema: deploymentSchema, apiVersion: 'apps/v1', kind: 'Deployment' }
const configMaps = { schema: configMapSchema, apiVersion: 'v1', kind: 'ConfigMap' }
const metadata = { name: 'web', namespace: 'default' }

function container(name: string, image: string, more: JsonObject = {}): JsonObject {
  return { name, image, ...more }
}

function withContainers(...containers: readonly JsonObject[]): JsonObject {
  return { metadata, spec: { template: { spec: { containers: [...containers] } } } }
}

function caught(run: () => unknown): ApiError {
  try {
    run()
  } catch (error) {
    if (isApiError(error)) return error
    throw error
  }
  return assert.fail('nothing was thrown')
}

test('apply creates an object and owns its fields except identifying metadata', () => {
  const history = new History(configMaps).apply('kubectl', {
    metadata: { ...metadata, labels: { app: 'web' } },
    data: { key: 'value' },
  })
  assert.deepEqual(history.content, {
    metadata: { ...metadata, labels: { app: 'web' } },
    data: { key: 'value' },
  })
  assert.deepEqual(managedFieldsOf(history.object), [
    {
      manager: 'kubectl',
      operation: 'Apply',
      apiVersion: 'v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:key': {} }, 'f:metadata': { 'f:labels': { 'f:app': {} } } },
    },
  ])
})

test('a repeated apply changes nothing, not even timestamps', () => {
  const applied = withContainers(container('web', 'nginx', { ports: [{ containerPort: 80 }], args: ['-v'] }))
  const history = new History(deployments).apply('kubectl', applied)
  const before = history.object
  assert.equal(history.apply('kubectl', applied).object, before)
})

test('a field of another manager is a conflict unless the value is equal', () => {
  const history = new History(configMaps).apply('a', { metadata, data: { key: '1', other: '1' } })
  const error = caught(() => history.apply('b', { metadata, data: { key: '2' } }))
  assert.deepEqual(error.status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'Conflict',
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "a": .data.key',
    details: {
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.data.key' }],
    },
  })
  history.apply('b', { metadata, data: { key: '1' } })
  assert.deepEqual(history.owners, { a: '.data.key .data.other', b: '.data.key' })
  assert.equal(history.entries.find(({ manager }) => manager === 'a')?.time, '2026-01-01T00:00:00Z')
})

test('conflicts are grouped by manager', () => {
  const history = new History(deployments)
    .apply('z', { metadata, spec: { replicas: 1, paused: true } })
    .update('a"b', { status: { replicas: 1 } }, { subresource: 'status' })
    .update('editor', { metadata: { ...metadata, labels: { app: 'web' } } })
  const applied = {
    metadata: { ...metadata, labels: { app: 'x' } },
    spec: { replicas: 2, paused: false },
    status: { replicas: 2 },
  }
  const error = caught(() => history.apply('me', applied))
  assert.equal(
    error.message,
    [
      'Apply failed with 4 conflicts: conflicts with "a\\"b" with subresource "status" using apps/v1:',
      '- .status.replicas',
      'conflicts with "editor" using apps/v1:',
      '- .metadata.labels.app',
      'conflicts with "z":',
      '- .spec.paused',
      '- .spec.replicas',
    ].join('\n'),
  )
  assert.deepEqual(
    error.status.details?.causes?.map(({ message }) => message),
    [
      'conflict with "a\\"b" with subresource "status" using apps/v1',
      'conflict with "editor" using apps/v1',
      'conflict with "z"',
      'conflict with "z"',
    ],
  )
})

test('force takes over conflicting fields only', () => {
  const history = new History(configMaps)
    .apply('a', { metadata, data: { key: '1', other: '1' } })
    .apply('b', { metadata, data: { key: '2' } }, { force: true })
  assert.deepEqual(history.content['data'], { key: '2', other: '1' })
  assert.deepEqual(history.owners, { a: '.data.other', b: '.data.key' })
})

test('a field no longer applied is removed unless another manager owns it', () => {
  const history = new History(configMaps)
    .apply('a', { metadata, data: { key: '1', shared: '1', mine: '1' } })
    .apply('b', { metadata, data: { shared: '1' } })
    .apply('a', { metadata, data: { key: '1' } })
  assert.deepEqual(history.content['data'], { key: '1', shared: '1' })
  assert.deepEqual(history.owners, { a: '.data.key', b: '.data.shared' })
})

test('an updated field belongs to the updater, and releasing it is no conflict', () => {
  const history = new History(deployments)
    .apply('kubectl', { metadata, spec: { replicas: 1, paused: true } })
    .update('editor', { spec: { replicas: 3, paused: true } })
  assert.deepEqual(history.owners, { 'kubectl': '.spec.paused', 'editor (update)': '.spec.replicas' })
  const error = caught(() => history.apply('kubectl', { metadata, spec: { replicas: 1, paused: true } }))
  assert.equal(
    error.message,
    'Apply failed with 1 conflict: conflict with "editor" using apps/v1: .spec.replicas',
  )
  history.apply('kubectl', { metadata, spec: { paused: true } })
  assert.deepEqual(history.content['spec'], { replicas: 3, paused: true })
})

test('ownership of replicas is transferred to the autoscaler', () => {
  const handOver = { metadata, spec: { replicas: 3 } }
  const history = new History(deployments)
    .apply('user', { metadata, spec: { replicas: 3, paused: false } })
    .apply('handover-to-hpa', handOver)
    .apply('user', { metadata, spec: { paused: false } })
  assert.deepEqual(history.content['spec'], { replicas: 3, paused: false })
  history.update('hpa', { spec: { replicas: 5, paused: false } })
  assert.deepEqual(history.owners, { 'user': '.spec.paused', 'hpa (update)': '.spec.replicas' })
  const before = history.object
  assert.equal(history.apply('user', { metadata, spec: { paused: false } }).object, before)
})

test('replicas without another owner are removed when no longer applied', () => {
  const history = new History(deployments)
    .apply('user', { metadata, spec: { replicas: 3, paused: false } })
    .apply('user', { metadata, spec: { paused: false } })
  assert.deepEqual(history.content['spec'], { paused: false })
})

test('items of a map list are owned by their appliers', () => {
  const history = new History(deployments)
    .apply('a', withContainers(container('web', 'nginx')))
    .apply('b', withContainers(container('log', 'fluent')))
  const containers = () => {
    return asMap(asMap(asMap(history.content['spec'])?.['template'])?.['spec'])?.['containers']
  }
  assert.deepEqual(containers(), [container('web', 'nginx'), container('log', 'fluent')])
  history.apply('a', withContainers(container('api', 'node')))
  assert.deepEqual(containers(), [container('log', 'fluent'), container('api', 'node')])
  const item = (name: string) => `.spec.template.spec.containers[name="${name}"]`
  const owned = (name: string) => `${item(name)} ${item(name)}.image ${item(name)}.name`
  assert.deepEqual(history.owners, { a: owned('api'), b: owned('log') })
  assert.match(
    caught(() => history.apply('b', withContainers(container('api', 'deno')))).message,
    /"a": .*\.image$/,
  )
})

test('an omitted key field equals its default', () => {
  const ports = (...list: JsonObject[]) => withContainers(container('web', 'nginx', { ports: list }))
  const history = new History(deployments).apply('a', ports({ containerPort: 80, protocol: 'TCP' }))
  const twice = ports({ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' })
  const error = caught(() => history.apply('b', twice))
  assert.equal(error.code, 500)
  assert.equal(
    error.message,
    'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): ' +
      '.spec.template.spec.containers[name="web"].ports: duplicate entries for key ' +
      '[containerPort=80,protocol="TCP"]',
  )
  history.apply('b', ports({ containerPort: 80, name: 'http' }))
  assert.match(history.owners['b'] ?? '', /ports\[containerPort=80,protocol="TCP"\]\.name/)
  assert.equal(JSON.stringify(history.content).match(/containerPort/g)?.length, 1)
})

test('atomic lists and maps are owned and replaced as a whole', () => {
  const history = new History(deployments).apply(
    'a',
    withContainers(container('web', 'nginx', { args: ['-a', '-b'] })),
  )
  const other = withContainers(container('web', 'nginx', { args: ['-a'] }))
  assert.match(
    caught(() => history.apply('b', other)).message,
    /1 conflict: conflict with "a": .*\[name="web"\]\.args$/,
  )
  history.apply('b', other, { force: true })
  assert.match(JSON.stringify(history.content), /"args":\["-a"\]/)
  assert.doesNotMatch(history.owners['a'] ?? '', /args/)
})

test('items of a set list are owned by their appliers', () => {
  const finalizers = (...list: string[]) => ({ metadata: { ...metadata, finalizers: list } })
  const history = new History(configMaps).apply('a', finalizers('x', 'y')).apply('b', finalizers('y', 'z'))
  assert.deepEqual(asMap(history.content['metadata'])?.['finalizers'], ['x', 'y', 'z'])
  history.apply('a', finalizers('x'))
  assert.deepEqual(asMap(history.content['metadata'])?.['finalizers'], ['x', 'y', 'z'])
  history.apply('b', finalizers('z'))
  assert.deepEqual(asMap(history.content['metadata'])?.['finalizers'], ['x', 'z'])
})

test('a struct without owners is removed with its unowned fields', () => {
  const history = new History(deployments)
    .apply('a', { ...withContainers(container('web', 'nginx')), status: { replicas: 1 } })
    .apply('a', { metadata, status: { replicas: 1 } })
  assert.deepEqual(history.content, { metadata, status: { replicas: 1 } })
  assert.deepEqual(history.apply('a', { metadata }).content, { metadata })
  assert.deepEqual(history.owners, {})
})

test('unowned fields stay while the struct has owners', () => {
  const history = new History(deployments, {
    metadata,
    spec: { paused: true, template: { spec: { hostNetwork: true } } },
  })
    .apply('a', { metadata, spec: { replicas: 1 } })
    .apply('a', { metadata, spec: {} })
  assert.deepEqual(history.content['spec'], { paused: true, template: { spec: { hostNetwork: true } } })
})

test('status ownership is tracked per subresource with reset fields', () => {
  const status = excludeFields([['spec'], ['metadata']])
  const rest = excludeFields([['status']])
  const history = new History(deployments)
    .apply('user', { metadata, spec: { replicas: 1 }, status: { replicas: 9 } }, { resetFields: rest })
    .update('controller', { status: { replicas: 1 } }, { subresource: 'status', resetFields: status })
  assert.deepEqual(history.owners, {
    'user': '.spec.replicas',
    'controller/status (update)': '.status.replicas',
  })
  const condition = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
  history.apply('controller', { metadata, ...condition }, { subresource: 'status', resetFields: status })
  assert.deepEqual(Object.keys(history.owners), ['user', 'controller/status', 'controller/status (update)'])
  assert.deepEqual(history.content['status'], { replicas: 1, ...condition.status })
})

test('fields from before the first apply belong to before-first-apply', () => {
  const history = new History(configMaps, {
    metadata: { ...metadata, uid: 'u' },
    data: { key: '1', other: '1' },
  })
  const error = caught(() => history.apply('kubectl', { metadata, data: { key: '2' } }))
  assert.equal(
    error.message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.key',
  )
  history.apply('kubectl', { metadata, data: { key: '1' } })
  assert.deepEqual(history.owners, {
    'kubectl': '.data.key',
    'before-first-apply (update)': '.data .data.key .data.other',
  })
})

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

function appliedByClient(): History {
  const configuration = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, annotations: {} },
    data: { key: '1', edited: '1' },
  }
  const annotations = { [lastApplied]: `${JSON.stringify(configuration)}\n` }
  return new History(configMaps)
    .update('kubectl-client-side-apply', {
      metadata: { ...metadata, annotations },
      data: { key: '1', edited: '1' },
    })
    .update('editor', { data: { key: '1', edited: '2' } })
}

test('kubectl migrates from client-side to server-side apply without conflicts', () => {
  const history = appliedByClient()
  const error = caught(() => history.apply('kubectl', { metadata, data: { key: '2', edited: '3' } }))
  assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.edited')
  const other = caught(() => appliedByClient().apply('other', { metadata, data: { key: '2' } }))
  assert.equal(other.reason, 'Conflict')
  history.apply('kubectl', { metadata, data: { key: '2' } })
  assert.equal(history.owners['kubectl'], '.data.key')
  assert.equal(asMap(history.content['data'])?.['key'], '2')
})

test("kubectl's last-applied annotation is updated by server-side apply", () => {
  const annotation = (history: History) => {
    return asMap(asMap(history.content['metadata'])?.['annotations'])?.[lastApplied]
  }
  const history = appliedByClient().apply('kubectl', { metadata, data: { '<': '&', 'key': '1' } })
  assert.equal(
    annotation(history),
    '{"apiVersion":"v1","data":{"\\u003c":"\\u0026","key":"1"},"kind":"ConfigMap",' +
      '"metadata":{"name":"web","namespace":"default"}}\n',
  )
  const untouched = appliedByClient().apply('other', { metadata, data: { key: '1' } })
  assert.equal(annotation(untouched), annotation(appliedByClient()))
  const before = history.object
  assert.equal(history.apply('kubectl', { metadata, data: { '<': '&', 'key': '1' } }).object, before)
  const huge = { metadata, data: { key: '1', huge: 'x'.repeat(300_000) } }
  assert.equal(annotation(history.apply('kubectl', huge)), undefined)
})

test('an invalid last-applied annotation does not suppress conflicts', () => {
  const texts = [
    '',
    'x',
    '[]',
    'null',
    '{}',
    '{"apiVersion":"v2"}',
    '{"apiVersion":"v1","data":1}',
    '['.repeat(100_000),
  ]
  for (const text of texts) {
    const history = new History(configMaps).update('me', {
      metadata: { ...metadata, annotations: { [lastApplied]: text } },
      data: { key: '1' },
    })
    assert.equal(caught(() => history.apply('kubectl', { metadata, data: { key: '2' } })).reason, 'Conflict')
  }
})

test('an update owns changed fields, and its time changes only with them', () => {
  const history = new History(configMaps).update('a', { metadata, data: { key: '1', other: '1' } })
  assert.deepEqual(history.owners, { 'a (update)': '.data .data.key .data.other' })
  const before = managedFieldsOf(history.object)
  history.update('b', { metadata: { ...metadata, resourceVersion: '2', generation: 2 } })
  assert.deepEqual(managedFieldsOf(history.object), before)
  history.update('b', { data: { key: '2' } })
  assert.deepEqual(history.owners, { 'a (update)': '.data', 'b (update)': '.data.key' })
  assert.deepEqual(
    history.entries.map(({ time }) => time),
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z'],
  )
  history.update('b', { data: {}, immutable: true })
  assert.deepEqual(history.owners, { 'a (update)': '.data', 'b (update)': '.immutable' })
})

test('an update that removes fields removes them from their owners', () => {
  const history = new History(configMaps)
    .apply('a', { metadata, data: { key: '1' } })
    .update('b', { data: { other: '1' } })
  assert.deepEqual(history.owners, { 'b (update)': '.data.other' })
})

test('structs that are always present are not owned by the creator', () => {
  const history = new History(deployments).update('kubectl-create', withContainers(container('web', 'nginx')))
  assert.deepEqual(managedFieldsOf(history.object), [
    {
      manager: 'kubectl-create',
      operation: 'Update',
      apiVersion: 'apps/v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:spec': {
          'f:template': {
            'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
          },
        },
      },
    },
  ])
})

test('clients can reset managed fields but not delete them by omission', () => {
  const history = new History(configMaps).apply('a', { metadata, data: { key: '1' } })
  const before = managedFieldsOf(history.object)
  assert.deepEqual(managedFieldsOf(history.update('b', { metadata }).object), before)
  const senseless = { metadata: { ...metadata, managedFields: [{ manager: 'x' }] } }
  assert.deepEqual(history.update('b', senseless).owners, { a: '.data.key' })
  const reset = { metadata: { ...metadata, managedFields: [{}] } }
  assert.deepEqual(history.update('b', reset, { subresource: 'status' }).owners, { a: '.data.key' })
  assert.equal(managedFieldsOf(history.update('b', reset).object), undefined)
  assert.equal(managedFieldsOf(history.update('b', { data: { key: '2' } }).object), undefined)
  assert.deepEqual(history.apply('c', { metadata, data: { key: '2' } }).owners, {
    'c': '.data.key',
    'before-first-apply (update)': '.data .data.key',
  })
})

test('a client may rewrite managed fields', () => {
  const history = new History(configMaps).apply('a', { metadata, data: { key: '1', other: '1' } })
  const [entry] = managedFieldsOf(history.object) as JsonObject[]
  const managedFields = [{ ...entry, manager: 'b', fieldsV1: { 'f:data': { 'f:key': {} } } }]
  assert.deepEqual(history.update('x', { metadata: { ...metadata, managedFields } }).owners, {
    b: '.data.key',
  })
})

test('an object that cannot be tracked keeps its managed fields', () => {
  const history = new History(deployments).apply('a', { metadata, spec: { replicas: 1 } })
  const live = history.object
  const options = {
    live,
    manager: 'b',
    schema: deploymentSchema,
    apiVersion: 'apps/v1',
    now: '2026-01-01T00:00:00Z',
  }
  let deep: JsonValue = 1
  for (let level = 0; level < 50_000; level++) deep = { a: deep }
  const unknown: JsonObject = { unknown: deep }
  for (const broken of [{ status: { conditions: [{ status: 'without a type' }] } }, unknown]) {
    const tracked = trackUpdate({ ...options, updated: { ...live, metadata, ...broken } })()
    assert.equal(managedFieldsOf(tracked), managedFieldsOf(live))
    assert.equal(tracked['spec'], live?.['spec'])
  }
})

test('eleven updaters are capped to ten entries', () => {
  const history = new History(configMaps)
  for (let index = 0; index < 12; index++) {
    const data = { ...asMap(history.object?.['data']), [`key${index}`]: '1' }
    history.update(`manager-${index}`, { metadata, data })
  }
  assert.equal(history.entries.length, 10)
  assert.equal(history.owners['ancient-changes (update)'], '.data .data.key0 .data.key1 .data.key2')
})

test('fields of managers are compared in their own version', () => {
  const v2 = { schema: configMapSchema, apiVersion: 'v2', kind: 'ConfigMap' }
  const convert = (object: JsonObject, apiVersion: string) => {
    if (apiVersion !== 'v1' && apiVersion !== 'v2') return undefined
    const { data, ...rest } = object
    const rename =
      object['apiVersion'] === apiVersion
        ? (key: string) => key
        : apiVersion === 'v2'
          ? (key: string) => `new-${key}`
          : (key: string) => key.replace('new-', '')
    const renamed = Object.entries(asMap(data) ?? {}).map(([key, value]) => [rename(key), value])
    return {
      schema: configMapSchema,
      object: { ...rest, apiVersion, ...(data !== undefined && { data: Object.fromEntries(renamed) }) },
    }
  }
  const first = new History(configMaps)
    .apply('a', { metadata, data: { x: '1', y: '1' } }, { convert })
    .apply('b', { metadata, data: { y: '1' } })
  const second = new History(v2, convert(first.object ?? {}, 'v2')?.object)
  const error = caught(() => second.apply('c', { metadata, data: { 'new-x': '2' } }, { convert }))
  assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "a": .data.x')
  second.apply('a', { metadata, data: { 'new-z': '1' } }, { convert })
  assert.deepEqual(second.content['data'], { 'new-y': '1', 'new-z': '1' })
  assert.deepEqual(second.owners, { a: '.data.new-z', b: '.data.y' })
  second.update('d', { data: { 'new-y': '2', 'new-z': '1' } }, { convert })
  assert.deepEqual(second.owners, { 'a': '.data.new-z', 'd (update)': '.data.new-y' })
})

test('managers of versions no longer served lose their fields', () => {
  const history = new History({ ...configMaps, apiVersion: 'v0' }).apply('old', {
    metadata,
    data: { key: '1' },
  })
  const next = new History(configMaps, { ...history.object, apiVersion: 'v1' })
  assert.deepEqual(next.apply('new', { metadata, data: { key: '2' } }).owners, { new: '.data.key' })
})

test('unknown fields of a custom resource are granular', () => {
  const custom = { schema: customSchema, apiVersion: 'example.com/v1', kind: 'Thing' }
  const history = new History(custom)
    .apply('a', { metadata, spec: { free: { x: 1, list: [1, 2] } } })
    .apply('b', { metadata, spec: { free: { y: 2 } } })
    .apply('a', { metadata, spec: { free: { x: 1 } } })
  assert.deepEqual(history.content['spec'], { free: { x: 1, y: 2 } })
})

test('an applied configuration of another type or with managed fields is rejected', () => {
  const apply = (applied: JsonObject, live?: JsonObject) =>
    caught(() =>
      applyConfiguration({
        live,
        applied,
        manager: 'a',
        force: false,
        schema: configMapSchema,
        apiVersion: 'v1',
        now: '',
      }),
    )
  const type = { apiVersion: 'v1', kind: 'ConfigMap' }
  assert.equal(apply({ ...type, apiVersion: 'v2' }).message, 'invalid object type: /v2, Kind=ConfigMap')
  assert.equal(apply({ ...type, kind: 'Pod' }, type).message, 'invalid object type: /v1, Kind=Pod')
  assert.equal(
    apply({ ...type, metadata: { managedFields: [] } }).message,
    'metadata.managedFields must be nil',
  )
  assert.equal(apply({ ...type, apiVersion: 'v2' }).code, 400)
  assert.equal(
    apply({ ...type, data: { a: 1 } }).message,
    'failed to create typed patch object (/; /v1, Kind=ConfigMap): ' +
      '.data.a: expected string, got &value.valueUnstructured{Value:1}',
  )
  const broken = { ...type, metadata: { managedFields: [{ operation: 'Eat' }] } }
  assert.equal(
    apply(type, broken).message,
    'failed to decode managed fields: operation must be `Apply` or `Update`',
  )
  const badLive = { ...type, metadata: { finalizers: [null] } }
  assert.match(
    apply(type, badLive).message,
    /^failed to create typed live object \(\/; \/v1, Kind=ConfigMap\): element 0:/,
  )
})

test('apply treats names like __proto__ as ordinary names', () => {
  const data = JSON.parse('{"__proto__":"x","constructor":"y","toString":"z"}') as JsonObject
  const history = new History(configMaps)
    .apply('__proto__', { metadata, data })
    .apply('constructor', { metadata, data })
  assert.equal(JSON.stringify(history.content['data']), JSON.stringify(data))
  assert.equal(history.entries.length, 2)
  history.apply('constructor', { metadata }).apply('__proto__', { metadata })
  assert.equal(history.content['data'], undefined)
  assert.equal(({} as { x?: unknown }).x, undefined)
  assert.equal(Object.getPrototypeOf({}), Object.prototype)
})

test('extractApplied returns the fields of a manager', () => {
  const history = new History(deployments)
    .apply('a', { ...withContainers(container('web', 'nginx')) })
    .apply('b', { metadata: { ...metadata, labels: { app: 'web' } }, spec: { replicas: 1 } })
  const object = history.object ?? {}
  const extract = (manager: string) => extractApplied({ object, manager, schema: deploymentSchema })
  const type = { apiVersion: 'apps/v1', kind: 'Deployment' }
  assert.deepEqual(extract('a'), { ...type, ...withContainers(container('web', 'nginx')) })
  assert.deepEqual(extract('b'), {
    ...type,
    metadata: { ...metadata, labels: { app: 'web' } },
    spec: { replicas: 1 },
  })
  assert.deepEqual(extract('c'), { ...type, metadata })
})

test('a write that changes only managedFields timestamps is ignored', () => {
  const managedFields = [{ manager: 'm', time: '1' }]
  const live = deepFreeze({ metadata: { name: 'a', managedFields }, data: { a: '1' } })
  const later = { ...live, metadata: { name: 'a', managedFields: [{ manager: 'm', time: '2' }] } }
  assert.equal(ignoreManagedFieldsTimestamps(live, later), live)
  const others: JsonObject[] = [
    { ...later, data: {} },
    { ...later, metadata: { name: 'a', managedFields: [{ manager: 'n', time: '2' }] } },
    { ...later, metadata: { name: 'a' } },
  ]
  for (const other of others) assert.equal(ignoreManagedFieldsTimestamps(live, other), other)
})
