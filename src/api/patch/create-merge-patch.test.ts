import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isApiError } from '../errors.ts'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { createMergePatch, createStrategicMergePatch } from './create-merge-patch.ts'
import type { JsonObject } from '../text/json-object.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'
import { any, deployment, list, map, pod, struct, text } from './testdata/schemas.ts'
import { thing, things } from './testdata/things.ts'
import { nested, valuesWithoutNull } from './testdata/values.ts'

/** Checks the patch between two pod specs, and that applying it gives the modified spec. */
function check(original: JsonObject, modified: JsonObject, expected: JsonObject): void {
  const [before, after] = deepFreeze([{ spec: original }, { spec: modified }] as const)
  const patch = createStrategicMergePatch(before, after, pod)
  assert.deepEqual(patch, Object.keys(expected).length === 0 ? {} : { spec: expected })
  assert.ok(equalJson(applyStrategicMergePatch(before, patch, pod), after))
}

function named(names: string): JsonValue[] {
  return names
    .split(' ')
    .filter(name => name !== '')
    .map(name => ({ name }))
}

test('a created strategic merge patch contains changed items and $setElementOrder', () => {
  check(
    {
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    },
    {
      containers: [
        { name: 'a', image: '1' },
        { name: 'b', image: '2' },
      ],
    },
    { 'containers': [{ name: 'b', image: '2' }], '$setElementOrder/containers': named('a b') },
  )
  check(
    { containers: named('a b') },
    { containers: named('b a') },
    { '$setElementOrder/containers': named('b a') },
  )
  check(
    { containers: named('a') },
    { containers: named('b a') },
    { 'containers': named('b'), '$setElementOrder/containers': named('b a') },
  )
  check(
    { containers: named('a b') },
    { containers: named('b') },
    { 'containers': [{ name: 'a', $patch: 'delete' }], '$setElementOrder/containers': named('b') },
  )
  check({ containers: named('a') }, { containers: [] }, { containers: [{ name: 'a', $patch: 'delete' }] })
  check({ containers: [] }, { containers: named('b a') }, { containers: named('b a') })
  check({}, { containers: named('b a') }, { containers: named('b a') })
  check({ containers: named('a') }, {}, { containers: null })
  check({ containers: named('a b') }, { containers: named('a b') }, {})
})

test('a created strategic merge patch removes members with null and replaces atomic lists', () => {
  check(
    { nodeSelector: { a: '1', b: '2' } },
    { nodeSelector: { b: '3' } },
    { nodeSelector: { a: null, b: '3' } },
  )
  check({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] })
  check({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'a' }] }, {})
  check({ nodeSelector: { a: '1' } }, { nodeSelector: {} }, { nodeSelector: { a: null } })
  check({ nodeSelector: {} }, { nodeSelector: 'text' }, { nodeSelector: 'text' })
})

test('a created strategic merge patch has $retainKeys where the schema requires it', () => {
  check(
    { volumes: [{ name: 'v', emptyDir: {} }] },
    { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
    {
      'volumes': [
        { name: 'v', emptyDir: null, configMap: { name: 'c' }, $retainKeys: ['configMap', 'name'] },
      ],
      '$setElementOrder/volumes': named('v'),
    },
  )
  const rolling = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } }
  const recreating = { spec: { strategy: { type: 'Recreate' } } }
  assert.deepEqual(createStrategicMergePatch(rolling, recreating, deployment), {
    spec: { strategy: { type: 'Recreate', rollingUpdate: null, $retainKeys: ['type'] } },
  })
})

test('a created strategic merge patch adds, deletes and orders finalizers', () => {
  const object = (finalizers: string[]): JsonObject => ({ metadata: { finalizers } })
  const patch = (before: string[], after: string[]): JsonObject => {
    return createStrategicMergePatch(object(before), object(after), pod)
  }
  assert.deepEqual(patch(['a', 'b'], ['b', 'c']), {
    metadata: {
      'finalizers': ['c'],
      '$deleteFromPrimitiveList/finalizers': ['a'],
      '$setElementOrder/finalizers': ['b', 'c'],
    },
  })
  assert.deepEqual(patch(['a', 'b'], ['b', 'a']), { metadata: { '$setElementOrder/finalizers': ['b', 'a'] } })
  assert.deepEqual(patch(['a'], []), { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })
  assert.deepEqual(patch(['a'], ['a']), {})
})

test('ports that differ only in protocol are not lost', () => {
  const tcp = { containerPort: 53, protocol: 'TCP' }
  const udp = { containerPort: 53, protocol: 'UDP' }
  const web = { containerPort: 80 }
  const spec = (...ports: JsonObject[]): JsonObject => ({ containers: [{ name: 'dns', ports }] })
  const order = { '$setElementOrder/containers': named('dns') }
  check(spec(tcp, udp), spec(tcp, udp), {})
  const replaced = (...ports: JsonObject[]): JsonObject => {
    return { containers: [{ name: 'dns', ports: [{ $patch: 'replace' }, ...ports] }], ...order }
  }
  check(spec(tcp), spec(tcp, udp), replaced(tcp, udp))
  check(spec(tcp, udp), spec(udp), replaced(udp))
  check(spec(tcp, udp), spec(tcp), replaced(tcp))
  check(spec(tcp, udp), spec(tcp, { ...udp, name: 'dns' }), replaced(tcp, { ...udp, name: 'dns' }))
  check(spec(tcp, udp, web), spec(tcp, udp), {
    containers: [
      {
        'name': 'dns',
        'ports': [{ containerPort: 80, $patch: 'delete' }],
        '$setElementOrder/ports': [{ containerPort: 53 }, { containerPort: 53 }],
      },
    ],
    ...order,
  })
})

test('a list without its merge key cannot be diffed', () => {
  const broken = { spec: { containers: [{ image: 'a' }] } }
  const sound = { spec: { containers: named('a') } }
  for (const [before, after] of [
    [broken, sound],
    [sound, broken],
  ] as const) {
    assert.throws(
      () => createStrategicMergePatch(before, after, pod),
      error => isApiError(error, 'Invalid'),
    )
  }
})

test('creating a patch rejects objects nested too deep', () => {
  const attempt = () => createStrategicMergePatch({ a: nested(100_000) }, { a: nested(100_001) }, pod)
  assert.throws(attempt, error => isApiError(error, 'BadRequest'))
})

test('long lists are diffed in linear time', () => {
  const long = Array.from({ length: 50_000 }, (_, index) => ({ name: `c${index}` }))
  const [before, after] = [{ spec: { containers: long } }, { spec: { containers: long.toReversed() } }]
  const patch = createStrategicMergePatch(before, after, pod)
  assert.ok(equalJson(patch, { spec: { '$setElementOrder/containers': long.toReversed() } }))
})

test('a created strategic merge patch transforms the original into the modified object', () => {
  fc.assert(
    fc.property(things, things, (before, after) => {
      const patch = createStrategicMergePatch(deepFreeze(before), deepFreeze(after), thing)
      assert.deepEqual(applyStrategicMergePatch(before, deepFreeze(patch), thing), after)
    }),
    { numRuns: 500 },
  )
})

test('a strategic merge patch between equal objects is empty and applying is idempotent', () => {
  fc.assert(
    fc.property(things, things, (before, after) => {
      assert.deepEqual(createStrategicMergePatch(before, structuredClone(before), thing), {})
      const patch = createStrategicMergePatch(before, after, thing)
      const once = applyStrategicMergePatch(before, patch, thing)
      assert.equal(applyStrategicMergePatch(once, patch, thing), once)
    }),
    { numRuns: 300 },
  )
})

test('without merge keys the created strategic merge patch is a merge patch', () => {
  const plain = struct({ a: struct({ a: text, b: list(any) }), b: map(list(text)), c: any })
  const objects = valuesWithoutNull.map(value => ({ a: value }))
  fc.assert(
    fc.property(objects, objects, (before, after) => {
      assert.deepEqual(createStrategicMergePatch(before, after, plain), createMergePatch(before, after))
    }),
  )
})
