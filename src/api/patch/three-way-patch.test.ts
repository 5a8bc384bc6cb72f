import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { createStrategicMergePatch } from './create-merge-patch.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import { applyMergePatch } from './merge-patch.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'
import { deployment, pod } from './testdata/schemas.ts'
import { thing, things } from './testdata/things.ts'
import {
  createThreeWayMergePatch,
  createThreeWayStrategicMergePatch,
  type ThreeWayOptions,
  type ThreeWayPatch,
} from './three-way-patch.ts'
import type { Versions } from './versions.ts'

const overwrite: ThreeWayOptions = { overwrite: true, preconditions: [] }
const careful: ThreeWayOptions = { overwrite: false, preconditions: [] }

function patchOf(plan: ThreeWayPatch): JsonObject {
  assert.ok(plan.outcome === 'patch')
  return plan.patch
}

/** Checks the result of applying `modified` after `original`, and optionally the patch. */
function check(versions: Versions<JsonObject>, expected: JsonObject, patch?: JsonObject): void {
  const made = patchOf(createThreeWayStrategicMergePatch(deepFreeze(versions), pod, overwrite))
  assert.deepEqual(applyStrategicMergePatch(versions.current, made, pod), expected)
  if (patch !== undefined) assert.deepEqual(made, patch)
}

function thingAfter(current: JsonObject, patch: JsonObject): JsonObject {
  const result = applyStrategicMergePatch(current, patch, thing)
  assert.ok(isObject(result))
  return result
}

function containers(...items: JsonValue[]): JsonObject {
  return { spec: { containers: items } }
}

test('three-way patch applies user changes and keeps additions of others', () => {
  const metadata = { labels: { x: 'y' } }
  check(
    {
      original: { spec: { nodeSelector: { a: '1', gone: '1' } } },
      modified: { spec: { nodeSelector: { a: '2', b: '3' } } },
      current: { metadata, spec: { nodeSelector: { a: '1', gone: '1', theirs: '1' } } },
    },
    { metadata, spec: { nodeSelector: { a: '2', b: '3', theirs: '1' } } },
    { spec: { nodeSelector: { a: '2', b: '3', gone: null } } },
  )
})

test('three-way patch keeps an injected sidecar and its position', () => {
  const [app, sidecar] = [
    { name: 'app', image: '1' },
    { name: 'sidecar', image: 's' },
  ]
  check(
    {
      original: containers(app),
      modified: containers({ ...app, image: '2' }, { name: 'new' }),
      current: containers({ ...app, args: [] }, sidecar),
    },
    containers({ ...app, image: '2', args: [] }, { name: 'new' }, sidecar),
  )
  check(
    { original: containers(app), modified: containers(app), current: containers(sidecar, app) },
    containers(sidecar, app),
    {},
  )
  const other = { name: 'x' }
  check(
    {
      original: containers(app, sidecar),
      modified: containers(app),
      current: containers(sidecar, app, other),
    },
    containers(app, other),
  )
})

test('three-way patch deletes only previously applied fields', () => {
  check(
    {
      original: { metadata: { finalizers: ['mine', 'old'] } },
      modified: { metadata: { finalizers: ['mine'] } },
      current: { metadata: { finalizers: ['theirs', 'mine', 'old'] } },
    },
    { metadata: { finalizers: ['theirs', 'mine'] } },
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['old'], '$setElementOrder/finalizers': ['mine'] } },
  )
  const current = { metadata: { name: 'a', labels: {} } }
  check({ original: undefined, modified: { metadata: { name: 'a' } }, current }, current, {})
  check({ original: { metadata: {} }, modified: {}, current: {} }, {}, { metadata: null })
})

test('three-way patch removes existing fields set to null', () => {
  const modified = { spec: { nodeSelector: null } }
  check({ original: {}, modified, current: { spec: { nodeSelector: { a: '1' } } } }, { spec: {} }, modified)
  check({ original: {}, modified, current: { spec: {} } }, { spec: {} }, {})
})

test('three-way patch drops defaults of the old strategy type', () => {
  const versions = {
    original: { spec: { replicas: 1 } },
    modified: { spec: { replicas: 1, strategy: { type: 'Recreate' } } },
    current: { spec: { replicas: 1, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
  }
  const patch = patchOf(createThreeWayStrategicMergePatch(versions, deployment, overwrite))
  assert.deepEqual(patch, { spec: { strategy: { type: 'Recreate', $retainKeys: ['type'] } } })
  assert.deepEqual(applyStrategicMergePatch(versions.current, patch, deployment), versions.modified)
})

test('three-way patch drops members not listed in $retainKeys', () => {
  const applied = { spec: { strategy: { type: 'Recreate' } } }
  const current = { spec: { strategy: { type: 'Recreate', rollingUpdate: {} } } }
  const versions = { original: applied, modified: applied, current }
  const plan = createThreeWayStrategicMergePatch(versions, deployment, overwrite)
  assert.deepEqual(patchOf(plan), { spec: { strategy: { $retainKeys: ['type'] } } })
})

test('three-way patch without overwrite reports conflicts', () => {
  const [tcp, udp] = [
    { containerPort: 53, protocol: 'TCP' },
    { containerPort: 53, protocol: 'UDP' },
  ]
  const cases: [Versions<JsonObject>, string[]][] = [
    [{ original: { spec: { a: 1 } }, modified: { spec: { a: 2 } }, current: { spec: { a: 3 } } }, ['spec.a']],
    [{ original: { spec: { a: 1 } }, modified: { spec: { a: 2 } }, current: { spec: { a: 2 } } }, []],
    [{ original: { spec: { a: 1 } }, modified: { spec: { a: 2 } }, current: { spec: { a: 1, b: 3 } } }, []],
    [{ original: { spec: { a: 1 } }, modified: { spec: {} }, current: { spec: { a: 3 } } }, ['spec.a']],
    [{ original: { spec: { a: 1 } }, modified: { spec: { a: 1 } }, current: { spec: {} } }, ['spec.a']],
    [
      {
        original: containers({ name: 'a', image: '1' }, { name: 'b', image: '1' }),
        modified: containers({ name: 'a', image: '2' }, { name: 'b', image: '2' }),
        current: containers({ name: 'a', image: '3' }, { name: 'b', image: '1', args: ['x'] }),
      },
      ['spec.containers[name=a].image'],
    ],
    [
      {
        original: containers({ name: 'a', image: '1' }),
        modified: containers(),
        current: containers({ name: 'a', image: '3' }),
      },
      ['spec.containers[name=a]'],
    ],
    [
      {
        original: { spec: { tolerations: [{ key: 'a' }] } },
        modified: { spec: { tolerations: [{ key: 'b' }] } },
        current: { spec: { tolerations: [{ key: 'c' }] } },
      },
      ['spec.tolerations'],
    ],
    [
      {
        original: containers({ name: 'dns', ports: [tcp] }),
        modified: containers({ name: 'dns', ports: [tcp, udp] }),
        current: containers({ name: 'dns', ports: [{ ...tcp, name: 'x' }] }),
      },
      ['spec.containers[name=dns].ports'],
    ],
    [
      {
        original: { metadata: { finalizers: ['a'] } },
        modified: { metadata: { finalizers: ['b'] } },
        current: { metadata: { finalizers: ['c', 'a'] } },
      },
      [],
    ],
  ]
  for (const [versions, fields] of cases) {
    const plan = createThreeWayStrategicMergePatch(deepFreeze(versions), pod, careful)
    assert.deepEqual(plan.outcome === 'conflict' ? plan.fields : [], fields)
    assert.equal(plan.outcome, fields.length > 0 ? 'conflict' : 'patch')
  }
})

test('three-way patch rejects violated preconditions', () => {
  const options = { overwrite: true, preconditions: [['apiVersion'], ['kind'], ['metadata', 'name']] }
  const current = { kind: 'A', metadata: { name: 'a', labels: {} } }
  const outcome = (modified: JsonObject) => {
    return createThreeWayMergePatch({ original: current, modified, current }, options)
  }
  assert.deepEqual(outcome({ ...current, kind: 'B' }), { outcome: 'precondition', field: 'kind' })
  const nameViolation = { outcome: 'precondition', field: 'metadata.name' }
  assert.deepEqual(outcome({ kind: 'A', metadata: { name: 'b' } }), nameViolation)
  assert.deepEqual(outcome({ kind: 'A' }), nameViolation)
  const renamed = outcome({ kind: 'A', metadata: { name: 'a', labels: { name: 'x' } } })
  assert.deepEqual(renamed, { outcome: 'patch', patch: { metadata: { labels: { name: 'x' } } } })
})

test('three-way patch of a custom resource replaces lists and keeps additions of others', () => {
  const versions = deepFreeze({
    original: { spec: { list: [{ name: 'a' }], gone: 1, deep: { x: 1 } } },
    modified: { spec: { list: [{ name: 'b' }], deep: {} } },
    current: { spec: { list: [{ name: 'a' }], gone: 1, deep: { x: 1, theirs: 1 } }, status: { ready: true } },
  })
  const patch = patchOf(createThreeWayMergePatch(versions, overwrite))
  assert.deepEqual(patch, { spec: { list: [{ name: 'b' }], gone: null, deep: { x: null } } })
  assert.deepEqual(applyMergePatch(versions.current, patch), {
    spec: { list: [{ name: 'b' }], deep: { theirs: 1 } },
    status: { ready: true },
  })
})

test('a three-way patch with original equal to current is a two-way patch', () => {
  fc.assert(
    fc.property(things, things, (current, modified) => {
      const plan = createThreeWayStrategicMergePatch({ original: current, modified, current }, thing, careful)
      assert.deepEqual(patchOf(plan), createStrategicMergePatch(current, modified, thing))
    }),
  )
})

test('a three-way patch yields the configuration and is idempotent', () => {
  fc.assert(
    fc.property(things, things, things, (original, modified, current) => {
      const versions = deepFreeze({ original, modified, current })
      const patch = patchOf(createThreeWayStrategicMergePatch(versions, thing, overwrite))
      const again = { original: modified, modified, current: thingAfter(current, patch) }
      assert.deepEqual(patchOf(createThreeWayStrategicMergePatch(again, thing, overwrite)), {})
    }),
    { numRuns: 300 },
  )
})

test('three-way patch keeps members and items of others', () => {
  fc.assert(
    fc.property(things, things, things, (original, modified, theirs) => {
      const current = { ...theirs, foreign: { kept: [1] }, items: [{ name: 'foreign', value: 1 }] }
      const plan = createThreeWayStrategicMergePatch({ original, modified, current }, thing, overwrite)
      const applied = thingAfter(current, patchOf(plan))
      assert.deepEqual(applied.foreign, { kept: [1] })
      // If the new configuration omits the field, the whole list is removed with it.
      if (Object.hasOwn(original, 'items') && !Object.hasOwn(modified, 'items')) return
      assert.ok(Array.isArray(applied.items))
      assert.ok(applied.items.some(item => equalJson(item, { name: 'foreign', value: 1 })))
    }),
  )
})
