import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isApiError } from '../errors.ts'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import { applyMergePatch } from './merge-patch.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'
import { any, deployment, list, map, mergedSet, pod, struct, text } from './testdata/schemas.ts'
import { nested, valuesWithNullMembers } from './testdata/values.ts'

/** Checks patches of a pod spec. */
function check(current: JsonObject, patch: JsonObject, expected: JsonObject): void {
  const patched = applyStrategicMergePatch(deepFreeze({ spec: current }), deepFreeze({ spec: patch }), pod)
  assert.deepEqual(patched, { spec: expected })
}

function checkFails(current: JsonObject, patch: JsonObject, code: number, message: RegExp): void {
  const [before, change] = deepFreeze([{ spec: current }, { spec: patch }] as const)
  assert.throws(
    () => applyStrategicMergePatch(before, change, pod),
    error => {
      assert.ok(isApiError(error))
      assert.equal(error.code, code)
      assert.match(error.message, message)
      return true
    },
  )
}

/** A list of named items: `a=1 b` is `[{name: a, image: 1}, {name: b}]`. */
function named(script: string): JsonValue[] {
  return script
    .split(' ')
    .filter(word => word !== '')
    .map((word): JsonObject => {
      const [name = '', image] = word.split('=')
      return image === undefined ? { name } : { name, image }
    })
}

/**
 * Checks patches of containers in short notation; a name with a minus is deleted, `order` is
 * `$setElementOrder`.
 */
function checkContainers(current: string, patch: string, order: string | undefined, expected: string): void {
  const items = named(patch).map(item => {
    if (!isObject(item) || typeof item.name !== 'string' || !item.name.startsWith('-')) return item
    return { name: item.name.slice(1), $patch: 'delete' }
  })
  check(
    { containers: named(current) },
    {
      ...(patch !== '' && { containers: items }),
      ...(order !== undefined && { '$setElementOrder/containers': named(order) }),
    },
    { containers: named(expected) },
  )
}

test('strategic merge patch merges containers by name', () => {
  check(
    {
      containers: [
        { name: 'app', image: 'app:1', args: ['-v'] },
        { name: 'log', image: 'log:1' },
      ],
    },
    { containers: [{ name: 'app', image: 'app:2' }] },
    {
      containers: [
        { name: 'app', image: 'app:2', args: ['-v'] },
        { name: 'log', image: 'log:1' },
      ],
    },
  )
  check(
    { containers: [{ name: 'app', image: 'app:1', args: ['-v'] }] },
    { containers: [{ name: 'app', image: null, args: ['-q'] }] },
    { containers: [{ name: 'app', args: ['-q'] }] },
  )
})

test('nested lists merge by their own merge keys', () => {
  check(
    {
      containers: [
        {
          name: 'app',
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '2' },
          ],
        },
      ],
    },
    { containers: [{ name: 'app', env: [{ name: 'B', value: null, valueFrom: { x: 1 } }] }] },
    {
      containers: [
        {
          name: 'app',
          env: [
            { name: 'A', value: '1' },
            { name: 'B', valueFrom: { x: 1 } },
          ],
        },
      ],
    },
  )
  const https = { containerPort: 443 }
  check(
    { containers: [{ name: 'app', ports: [{ containerPort: 80, protocol: 'TCP' }, https] }] },
    { containers: [{ name: 'app', ports: [{ containerPort: 80, name: 'web' }] }] },
    { containers: [{ name: 'app', ports: [{ containerPort: 80, protocol: 'TCP', name: 'web' }, https] }] },
  )
  const [first, second] = [
    { mountPath: '/a', name: 'x' },
    { mountPath: '/b', name: 'x' },
  ]
  check(
    { containers: [{ name: 'app', volumeMounts: [first, second] }] },
    { containers: [{ name: 'app', volumeMounts: [{ mountPath: '/b', $patch: 'delete' }] }] },
    { containers: [{ name: 'app', volumeMounts: [first] }] },
  )
  check(
    { hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }] },
    { hostAliases: [{ ip: '1.1.1.1', hostnames: ['b'] }] },
    { hostAliases: [{ ip: '1.1.1.1', hostnames: ['b'] }] },
  )
  check(
    { imagePullSecrets: named('a') },
    { imagePullSecrets: named('b a') },
    { imagePullSecrets: named('b a') },
  )
})

test('lists without a merge strategy are replaced', () => {
  check({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] })
  check({ tolerations: [{ key: 'a' }] }, { tolerations: [] }, { tolerations: [] })
  check({ tolerations: [{ key: 'a' }] }, { tolerations: null }, {})
})

test('maps and structs merge, and null removes a member', () => {
  check(
    { nodeSelector: { a: '1', b: '2' } },
    { nodeSelector: { a: null, c: '3' } },
    { nodeSelector: { b: '2', c: '3' } },
  )
  check(
    { securityContext: { runAsUser: 1, sysctls: [1] } },
    { securityContext: { runAsUser: null } },
    { securityContext: { sysctls: [1] } },
  )
  check({}, { nodeSelector: { a: '1', b: null }, tolerations: null }, { nodeSelector: { a: '1' } })
  check({ nodeSelector: { a: '1' } }, { nodeSelector: 'text' }, { nodeSelector: 'text' })
  check({ nodeSelector: 'text' }, { nodeSelector: { a: null } }, { nodeSelector: {} })
})

test('new items come first without $setElementOrder', () => {
  checkContainers('a b c', 'd', undefined, 'd a b c')
  checkContainers('a b c', 'c=1 a', undefined, 'b c=1 a')
  checkContainers('a b', 'x a', undefined, 'x a b')
  checkContainers('a b', 'a x', undefined, 'a x b')
  checkContainers('', 'b a', undefined, 'b a')
})

test('$setElementOrder orders the named items and keeps the others in place', () => {
  checkContainers('a b c', '', 'c b a', 'c b a')
  checkContainers('a b c', '', 'c a', 'b c a')
  checkContainers('a b c', 'd=1', 'a d b c', 'a d=1 b c')
  checkContainers('a b c', 'd', 'a b c d', 'a b c d')
  checkContainers('a sidecar b', 'c', 'a b c', 'a sidecar b c')
  checkContainers('a b sidecar', 'c', 'c b a', 'c b a sidecar')
  checkContainers('a b c', '-b', 'c a', 'c a')
  checkContainers('a b c', '-b', 'a c', 'a c')
  checkContainers('a b', 'a=1 b=2', 'a b', 'a=1 b=2')
  checkContainers('a b c', 'd', '', 'a b c d')
  check({}, { '$setElementOrder/containers': named('a') }, {})
  const tolerations = named('a b')
  check({ tolerations }, { '$setElementOrder/tolerations': named('b a') }, { tolerations })
  check(
    {},
    { 'containers': named('a b'), '$setElementOrder/containers': named('a b') },
    { containers: named('a b') },
  )
})

test('$setElementOrder must match the patch list', () => {
  const containers = named('a b')
  const cases: [JsonObject, RegExp][] = [
    [{ 'containers': named('b a'), '$setElementOrder/containers': named('a b') }, /doesn't match \$setEl/],
    [{ 'containers': named('c'), '$setElementOrder/containers': named('a b') }, /doesn't match/],
    [{ '$setElementOrder/containers': 'a' }, /invalid patch format of setElementOrder list/],
    [{ '$setElementOrder/containers': null }, /invalid patch format of setElementOrder list/],
    [{ $setElementOrder: named('a') }, /invalid patch format of setElementOrder list/],
  ]
  for (const [patch, message] of cases) checkFails({ containers }, patch, 400, message)
  checkFails({ containers }, { '$setElementOrder/containers': [{ image: 'a' }] }, 422, /merge key: name/)
})

test('$patch deletes an item, replaces a list, replaces a map, empties a map', () => {
  checkContainers('a b', '-a', undefined, 'b')
  checkContainers('a b', '-x', undefined, 'a b')
  check(
    { containers: named('a b') },
    { containers: [{ $patch: 'replace' }, ...named('c a')] },
    { containers: named('c a') },
  )
  check({ containers: named('a') }, { containers: [{ $patch: 'replace' }] }, { containers: [] })
  check(
    { nodeSelector: { a: '1' } },
    { nodeSelector: { $patch: 'replace', b: '2' } },
    { nodeSelector: { b: '2' } },
  )
  check({ nodeSelector: { a: '1' } }, { nodeSelector: { $patch: 'delete' } }, { nodeSelector: {} })
  check(
    { nodeSelector: { a: '1' } },
    { nodeSelector: { $patch: 'merge', b: '2' } },
    { nodeSelector: { a: '1', b: '2' } },
  )
  check(
    { containers: named('a=1') },
    { containers: [{ $patch: 'merge', name: 'a', args: [] }] },
    { containers: [{ name: 'a', image: '1', args: [] }] },
  )
  const replaced = applyStrategicMergePatch({ metadata: { name: 'a' } }, { $patch: 'replace', spec: {} }, pod)
  assert.deepEqual(replaced, { spec: {} })
  checkFails({ nodeSelector: {} }, { nodeSelector: { $patch: 'explode' } }, 500, /patch type: explode in/)
  checkFails({ containers: [] }, { containers: [{ $patch: 'delete' }] }, 422, /declared merge key: name/)
})

test('directives in new values are removed', () => {
  const env: JsonValue = [{ $patch: 'replace' }, { name: 'A' }]
  check(
    {},
    {
      containers: [
        { name: 'a', $patch: 'delete' },
        { name: 'b', env },
      ],
    },
    { containers: [{ name: 'b', env: [{ name: 'A' }] }] },
  )
  check({}, { nodeSelector: { $patch: 'replace', a: '1' } }, { nodeSelector: { a: '1' } })
  check({}, { nodeSelector: { $patch: 'delete' } }, {})
  const $retainKeys = ['name', 'emptyDir']
  check(
    { volumes: [] },
    { volumes: [{ name: 'v', $retainKeys, emptyDir: {}, secret: null }] },
    { volumes: [{ name: 'v', emptyDir: {} }] },
  )
  check(
    { tolerations: [] },
    { tolerations: [{ key: 'a' }, { $patch: 'replace' }] },
    { tolerations: [{ key: 'a' }] },
  )
})

test('$retainKeys drops the members it does not name', () => {
  check(
    {
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'w', secret: {} },
      ],
    },
    { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] },
    {
      volumes: [
        { name: 'v', configMap: { name: 'c' } },
        { name: 'w', secret: {} },
      ],
    },
  )
  assert.deepEqual(
    applyStrategicMergePatch(
      { spec: { replicas: 2, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { type: 'Recreate', $retainKeys: ['type'] } } },
      deployment,
    ),
    { spec: { replicas: 2, strategy: { type: 'Recreate' } } },
  )
  check(
    { kept: 1, containers: named('a b') },
    { '$retainKeys': ['kept'], '$setElementOrder/containers': named('b a') },
    { kept: 1 },
  )
  const volumes = [{ name: 'v', emptyDir: {} }]
  const message = /invalid patch format of retainKeys/
  checkFails({ volumes }, { volumes: [{ name: 'v', $retainKeys: 'name' }] }, 400, message)
  checkFails({ volumes }, { volumes: [{ name: 'v', $retainKeys: ['name'], secret: {} }] }, 400, message)
})

test('finalizers merge as a set, and $deleteFromPrimitiveList removes items', () => {
  const cases: [string[], JsonObject, string[]][] = [
    [['a', 'b'], { finalizers: ['c'] }, ['c', 'a', 'b']],
    [['a', 'b'], { finalizers: ['b'] }, ['a', 'b']],
    [['a', 'b'], { finalizers: ['b', 'a'] }, ['b', 'a']],
    [['a', 'b'], { '$deleteFromPrimitiveList/finalizers': ['a', 'x'] }, ['b']],
    [['a', 'b'], { '$deleteFromPrimitiveList/finalizers': ['a'], 'finalizers': ['c'] }, ['c', 'b']],
    [['a', 'b'], { '$setElementOrder/finalizers': ['b', 'a'] }, ['b', 'a']],
    [
      ['a', 'x', 'b'],
      { '$setElementOrder/finalizers': ['b', 'a', 'c'], 'finalizers': ['c'] },
      ['x', 'b', 'a', 'c'],
    ],
    [
      ['a', 'b'],
      {
        '$setElementOrder/finalizers': ['c', 'b'],
        '$deleteFromPrimitiveList/finalizers': ['a'],
        'finalizers': ['c'],
      },
      ['c', 'b'],
    ],
  ]
  for (const [current, patch, expected] of cases) {
    const object = deepFreeze({ metadata: { finalizers: current } })
    const patched = applyStrategicMergePatch(object, { metadata: patch }, pod)
    assert.deepEqual(patched, { metadata: { finalizers: expected } }, JSON.stringify(patch))
  }
  const metadata = { name: 'a' }
  const deletion = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }
  assert.deepEqual(applyStrategicMergePatch({ metadata }, deletion, pod), { metadata })
})

test('owner references merge by uid', () => {
  assert.deepEqual(
    applyStrategicMergePatch(
      {
        metadata: {
          ownerReferences: [
            { uid: '1', name: 'a' },
            { uid: '2', name: 'b' },
          ],
        },
      },
      {
        metadata: {
          ownerReferences: [
            { uid: '1', $patch: 'delete' },
            { uid: '2', controller: true },
          ],
        },
      },
      pod,
    ),
    { metadata: { ownerReferences: [{ uid: '2', name: 'b', controller: true }] } },
  )
})

test('structs with strategy replace are replaced, and data without schema merges like a merge patch', () => {
  const patched = applyStrategicMergePatch(
    { spec: { whole: { a: 1, b: 2 }, raw: { x: { y: 1 }, list: [{ name: 'a' }] }, unknown: { x: 1 } } },
    { spec: { whole: { a: 3 }, raw: { x: { z: 2 }, list: [{ name: 'b' }] }, unknown: { y: 2 } } },
    deployment,
  )
  const raw = { x: { y: 1, z: 2 }, list: [{ name: 'b' }] }
  assert.deepEqual(patched, { spec: { whole: { a: 3 }, raw, unknown: { x: 1, y: 2 } } })
})

test('structs in a map merge by their own schema', () => {
  const groups = map(struct({ members: mergedSet(text) }))
  const patched = applyStrategicMergePatch({ a: { members: ['x'] } }, { a: { members: ['y'] } }, groups)
  assert.deepEqual(patched, { a: { members: ['y', 'x'] } })
})

test('strategic merge patches that do not match the list are rejected', () => {
  checkFails({ containers: named('a') }, { containers: ['a'] }, 422, /expected a map/)
  checkFails({ containers: ['a'] }, { containers: named('a') }, 422, /expected a map/)
  checkFails(
    { containers: named('a') },
    { containers: [{ image: 'x' }] },
    422,
    /^map: {"image":"x"} does not contain declared merge key: name$/,
  )
  checkFails({ containers: [{ image: 'x' }] }, { containers: named('a') }, 422, /merge key: name/)
  checkFails({ containers: [] }, { containers: [{ name: ['a'] }] }, 422, /merge key: name/)
  checkFails({ containers: [] }, { containers: [{ name: null }] }, 422, /merge key: name/)
  const refused: [JsonObject, number, RegExp][] = [
    [{ finalizers: [{ a: 1 }] }, 422, /cannot merge lists without merge key/],
    [{ finalizers: [['a']] }, 422, /lists of lists are not supported/],
    [{ '$deleteFromPrimitiveList/finalizers': 'a' }, 400, /invalid patch format of primitive list/],
    [{ $deleteFromPrimitiveList: ['a'] }, 400, /invalid patch format of primitive list/],
  ]
  for (const [patch, code, message] of refused) {
    const object = { metadata: { finalizers: ['a'] } }
    assert.throws(
      () => applyStrategicMergePatch(object, { metadata: patch }, pod),
      error => {
        return isApiError(error) && error.code === code && message.test(error.message)
      },
    )
  }
  for (const document of [null, [], 1, 'text']) {
    assert.throws(
      () => applyStrategicMergePatch({}, document, pod),
      error => isApiError(error, 'BadRequest'),
    )
  }
})

test('strategic merge patch handles hostile names, depth and length', () => {
  const labels = '{"__proto__":"x","constructor":"y"}'
  const patch: JsonValue = JSON.parse(`{"spec":{"__proto__":{"a":1},"nodeSelector":${labels}}}`)
  const patched = applyStrategicMergePatch({ spec: { nodeSelector: {} } }, patch, pod)
  assert.equal(JSON.stringify(patched), `{"spec":{"nodeSelector":${labels},"__proto__":{"a":1}}}`)
  const containers = [JSON.parse('{"name":"__proto__"}'), { name: 'constructor' }]
  check(
    { containers },
    { containers: [{ name: '__proto__', image: 'i' }] },
    { containers: [{ name: '__proto__', image: 'i' }, { name: 'constructor' }] },
  )
  for (const attempt of [
    () => applyStrategicMergePatch({}, nested(100_000), pod),
    () => applyStrategicMergePatch({ a: nested(100_000) }, { a: nested(100_001) }, pod),
    () => applyStrategicMergePatch({ a: [] }, { a: [nested(100_000)] }, pod),
  ])
    assert.throws(attempt, error => isApiError(error, 'BadRequest'))
  const long = Array.from({ length: 50_000 }, (_, index) => ({ name: `c${index}`, image: 'x' }))
  const reversed = { containers: long.toReversed() }
  const reversal = { spec: { ...reversed, '$setElementOrder/containers': reversed.containers } }
  const inReverse = applyStrategicMergePatch({ spec: { containers: long } }, reversal, pod)
  assert.ok(equalJson(inReverse, { spec: reversed }))
  assert.equal(Reflect.get({}, 'a'), undefined)
})

test('a strategic merge patch shares unchanged parts and returns the object if nothing changes', () => {
  const current = {
    metadata: { labels: { a: '1' }, finalizers: ['a', 'b'] },
    spec: { containers: named('a=1 b=2'), tolerations: [{ key: 'a' }], nodeSelector: { a: '1' } },
  }
  const nodeSelector = { $patch: 'replace', a: '1' }
  const patch = { spec: { containers: named('b=2'), tolerations: [{ key: 'a' }], nodeSelector } }
  assert.equal(applyStrategicMergePatch(current, patch, pod), current)
  const metadata = { finalizers: ['b'], name: null }
  const order = { spec: { '$setElementOrder/containers': named('a b') }, metadata }
  assert.equal(applyStrategicMergePatch(current, order, pod), current)
  const patched = applyStrategicMergePatch(current, { spec: { containers: named('b=3') } }, pod)
  assert.ok(isObject(patched) && isObject(patched.spec) && Array.isArray(patched.spec.containers))
  assert.equal(patched.metadata, current.metadata)
  assert.equal(patched.spec.containers[0], current.spec.containers[0])
})

test('a number and a bigint of the same value are the same key', () => {
  check(
    { containers: [{ name: 'a', ports: [{ containerPort: 80n }] }] },
    { containers: [{ name: 'a', ports: [{ containerPort: 80, name: 'web' }] }] },
    { containers: [{ name: 'a', ports: [{ containerPort: 80n, name: 'web' }] }] },
  )
})

test('without merge keys a strategic merge patch is a merge patch', () => {
  const plain = struct({ a: struct({ a: text, b: list(any) }), b: map(list(text)), c: any })
  const objects = valuesWithNullMembers.filter(isObject)
  fc.assert(
    fc.property(objects, objects, (current, patch) => {
      const merged = applyStrategicMergePatch(deepFreeze(current), deepFreeze(patch), plain)
      assert.ok(equalJson(merged, applyMergePatch(current, patch)))
    }),
    { numRuns: 300 },
  )
})
