/** Plans are carried out with the functions of the API server for server-side apply. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyConfiguration, trackUpdate } from '#/api/apply.ts'
import { applyPatch } from '#/api/patch.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { planUndo, remainingPatch, undoManager, type UndoPlan } from './plan-undo.ts'
import { managedFieldsOf } from './undo/managed-fields.ts'
import { restorableState } from './undo/restorable-state.ts'

const now = '2026-01-01T00:00:00Z'
const common = { schema: deployments.schema, apiVersion: 'apps/v1', now }
const nothing: ReadonlySet<string> = new Set()

function deployment(spec: object, pod: object, metadata: object = {}): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', ...metadata },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      ...spec,
      template: { metadata: { labels: { app: 'web' } }, spec: pod },
    },
  } as JsonObject
}

function updated(live: JsonObject | undefined, object: JsonObject, manager: string): JsonObject {
  const { managedFields: _fields, ...metadata } = object['metadata'] as JsonObject
  return trackUpdate({ ...common, live, updated: { ...object, metadata }, manager })()
}

function applied(live: JsonObject, configuration: JsonObject, manager: string): JsonObject {
  const { object } = applyConfiguration({ ...common, live, applied: configuration, manager, force: true })
  assert.ok(object)
  return object
}

/** What `k8ts undo` does, without the last patch. */
function undone(current: JsonObject, plan: UndoPlan): JsonObject {
  assert.equal(plan.type, 'restore')
  if (plan.type !== 'restore') return current
  const metadata = isObject(current['metadata']) ? current['metadata'] : {}
  const managedFields = [...(plan.transfer ?? managedFieldsOf(current))]
  return applied({ ...current, metadata: { ...metadata, managedFields } }, plan.configuration, undoManager)
}

const app = { name: 'app', image: 'web:1', env: [{ name: 'A', value: '1' }] }
const ports = [{ containerPort: 80, protocol: 'TCP' }]
const first = deployment({ replicas: 2 }, { containers: [app] }, { labels: { app: 'web' } })

const cases: readonly { readonly name: string; readonly to: JsonObject; readonly from: JsonObject }[] = [
  {
    name: 'a changed image',
    to: first,
    from: deployment(
      { replicas: 2 },
      { containers: [{ ...app, image: 'web:2' }] },
      { labels: { app: 'web' } },
    ),
  },
  {
    name: 'added fields, list items, labels and annotations',
    to: first,
    from: deployment(
      { replicas: 3, paused: true, strategy: { type: 'Recreate' } },
      {
        hostNetwork: true,
        containers: [
          { ...app, image: 'web:2', ports, env: [{ name: 'B' }, { name: 'A', value: '2' }] },
          { name: 'sidecar', image: 'mesh' },
        ],
        nodeSelector: { disk: 'ssd' },
      },
      { labels: { app: 'web', tier: 'x' }, annotations: { note: 'x' } },
    ),
  },
  {
    name: 'removed fields and list items, in their order',
    to: deployment(
      { replicas: 2, minReadySeconds: 5 },
      {
        initContainers: [{ name: 'init', image: 'init' }],
        containers: [{ name: 'a', image: 'a' }, app, { name: 'z', image: 'z', args: ['x', 'y'] }],
        nodeSelector: { disk: 'ssd', zone: 'b' },
      },
    ),
    from: deployment({ replicas: 2 }, { containers: [app], nodeSelector: { disk: 'hdd' } }),
  },
  {
    name: 'a changed atomic map and an atomic list',
    to: deployment({}, { nodeSelector: { a: '1' }, containers: [{ ...app, args: ['a'] }] }),
    from: deployment({}, { nodeSelector: { b: '2' }, containers: [{ ...app, args: ['b', 'c'] }] }),
  },
]

test('an undo restores the earlier version exactly, in one write, whichever manager has changed it since', () => {
  for (const { name, to, from } of cases) {
    const created = updated(undefined, to, 'kubectl-create')
    const edited = updated(created, from, 'kubectl-edit')
    const forcedByApply = applied(updated(created, to, 'x'), withoutUid(from), 'gitops')
    for (const current of [edited, forcedByApply]) {
      const plan = planUndo({ current, target: created, liveOwners: nothing, nowMs: 0 })
      const result = undone(current, plan)
      assert.deepEqual(restorableState(result), restorableState(to), name)
      assert.equal(remainingPatch(result, created), undefined, name)
      assert.ok(plan.type === 'restore')
      const previewed = applyPatch('merge', { current, patch: plan.patch }) as JsonObject
      assert.deepEqual(restorableState(previewed), restorableState(to), name)
    }
  }
})

function withoutUid(object: JsonObject): JsonObject {
  const { uid: _uid, ...metadata } = object['metadata'] as JsonObject
  return { ...object, metadata }
}

test('an undo owns only what it has changed, and a second one keeps what the first has restored', () => {
  const created = updated(undefined, first, 'kubectl-create')
  const image = deployment(
    { replicas: 2 },
    { containers: [{ ...app, image: 'web:2' }] },
    { labels: { app: 'web' } },
  )
  const edited = updated(created, image, 'kubectl-edit')
  const plan = planUndo({ current: edited, target: created, liveOwners: nothing, nowMs: 0 })
  const back = undone(edited, plan)
  assert.deepEqual(managedFieldsOf(back).find(({ manager }) => manager === undoManager)?.['fieldsV1'], {
    'f:spec': {
      'f:template': {
        'f:spec': { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
      },
    },
  })
  const scaled = { ...first, spec: { ...(first['spec'] as JsonObject), replicas: 5 } }
  const current = updated(back, scaled, 'kubectl-scale')
  const second = planUndo({ current, target: created, liveOwners: nothing, nowMs: 0 })
  assert.deepEqual(restorableState(undone(current, second)), restorableState(first))
})

test('nothing is to be done for an object that is as it was, whatever its status and metadata of the server', () => {
  const later = {
    ...first,
    metadata: {
      ...(first['metadata'] as JsonObject),
      resourceVersion: '9',
      annotations: { 'deployment.kubernetes.io/revision': '4' },
    },
    status: { replicas: 2 },
  }
  assert.deepEqual(planUndo({ current: later, target: first, liveOwners: nothing, nowMs: 0 }), {
    type: 'unchanged',
  })
})

test('a deleted object is created again without what belonged to the former one', () => {
  const owner = (name: string): object => ({ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name })
  const target = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-0',
      namespace: 'shop',
      uid: 'u1',
      resourceVersion: '7',
      creationTimestamp: now,
      deletionTimestamp: now,
      labels: { app: 'web' },
      finalizers: ['foregroundDeletion', 'example.com/hold'],
      ownerReferences: [owner('alive'), owner('gone')],
      managedFields: [],
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'web' }] },
    status: { phase: 'Running' },
  } as unknown as JsonObject
  const liveOwners = new Set(['alive'])
  assert.deepEqual(planUndo({ current: undefined, target, liveOwners, nowMs: 0 }), {
    type: 'recreate',
    configuration: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web-0',
        namespace: 'shop',
        labels: { app: 'web' },
        finalizers: ['example.com/hold'],
        ownerReferences: [owner('alive')],
      },
      spec: { containers: [{ name: 'app', image: 'web' }] },
    },
    notes: [
      'its owner ReplicaSet gone no longer exists: the reference is left out',
      'it is scheduled again; it was on node node-1',
    ],
  })
})

test('a deleted Job is created again without its generated selector', () => {
  const labels = { 'app': 'once', 'controller-uid': 'u1', 'batch.kubernetes.io/job-name': 'once' }
  const target = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'once' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
  }
  const plan = planUndo({ current: undefined, target, liveOwners: nothing, nowMs: 0 })
  assert.ok(plan.type === 'recreate')
  assert.deepEqual(plan.configuration['spec'], { template: { metadata: { labels: { app: 'once' } } } })
})
