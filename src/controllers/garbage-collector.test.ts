import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { configMaps, events, namespaces, nodes, pods, secrets } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { OwnerReference, Stored } from '#/api/metadata.ts'
import type { DeleteOptions } from '#/client/client.ts'
import { garbageCollectorController } from './garbage-collector.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

interface World extends TestControlPlane {
  /** Creates a ConfigMap with these owner references. */
  readonly make: (name: string, ...owners: readonly OwnerReference[]) => Promise<Stored<ConfigMap>>
  readonly names: () => Promise<readonly string[]>
  readonly remove: (name: string, options: DeleteOptions) => Promise<void>
}

async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [garbageCollectorController])
  return {
    ...plane,
    make: (name, ...ownerReferences) => {
      return plane.create(configMaps, { metadata: { namespace: 'default', name, ownerReferences } })
    },
    names: async () => (await plane.list(configMaps, 'default')).map(each => each.metadata.name).toSorted(),
    remove: async (name, options) => {
      await plane.run(plane.client.delete(configMaps, { namespace: 'default', name }, options))
      await plane.settle()
    },
  }
}

function refer(owner: Stored, blockOwnerDeletion = false): OwnerReference {
  const {
    apiVersion = '',
    kind = '',
    metadata: { name, uid },
  } = owner
  return { apiVersion, kind, name, uid, blockOwnerDeletion }
}

test('Background: the owner is deleted at once, then its dependents', async t => {
  const world = await start(t)
  const top = await world.make('top')
  const middle = await world.make('middle', refer(top))
  await world.make('bottom', refer(middle))
  await world.make('bystander')
  await world.remove('top', { propagationPolicy: 'Background' })
  assert.deepEqual(await world.names(), ['bystander'])
})

test('Foreground: the owner is deleted last', async t => {
  const world = await start(t)
  const top = await world.make('top')
  const middle = await world.make('middle', refer(top, true))
  await world.make('bottom', refer(middle, true))
  await world.change(configMaps, 'default/bottom', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: ['example.com/hold'] },
  }))
  await world.remove('top', { propagationPolicy: 'Foreground' })
  assert.deepEqual(await world.names(), ['bottom', 'middle', 'top'])
  await world.change(configMaps, 'default/bottom', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: [] },
  }))
  assert.deepEqual(await world.names(), [])
})

test('Foreground: dependents without blockOwnerDeletion are deleted after the owner', async t => {
  const world = await start(t)
  const top = await world.make('top')
  await world.make('free', refer(top))
  await world.change(configMaps, 'default/free', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: ['example.com/hold'] },
  }))
  await world.remove('top', { propagationPolicy: 'Foreground' })
  assert.deepEqual(await world.names(), ['free'])
})

test('Orphan: dependents stay and lose the owner reference', async t => {
  const world = await start(t)
  const top = await world.make('top')
  await world.make('child', refer(top))
  await world.remove('top', { propagationPolicy: 'Orphan' })
  assert.deepEqual(await world.names(), ['child'])
  const [child] = await world.list(configMaps, 'default')
  assert.deepEqual(child?.metadata.ownerReferences ?? [], [])
})

test('an object with another owner stays and loses the dangling reference', async t => {
  const world = await start(t)
  const [first, second] = [await world.make('first'), await world.make('second')]
  await world.make('child', refer(first, true), refer(second))
  await world.remove('first', { propagationPolicy: 'Foreground' })
  const left = await world.list(configMaps, 'default')
  const child = left.find(each => each.metadata.name === 'child')
  assert.deepEqual(
    child?.metadata.ownerReferences?.map(owner => owner.name),
    ['second'],
  )
  assert.equal(
    left.some(each => each.metadata.name === 'first'),
    false,
  )
})

test('a cycle of owners does not block foreground deletion', async t => {
  const world = await start(t)
  const [a, b, c] = [await world.make('a'), await world.make('b'), await world.make('c')]
  const own = (key: string, owner: Stored<ConfigMap>): Promise<unknown> => {
    return world.change(configMaps, `default/${key}`, each => ({
      ...each,
      metadata: { ...each.metadata, ownerReferences: [refer(owner, true)] },
    }))
  }
  await own('b', a)
  await own('c', b)
  await own('a', c)
  await world.remove('a', { propagationPolicy: 'Foreground' })
  assert.deepEqual(await world.names(), [])
})

test('a missing owner, or one in another namespace, is dangling', async t => {
  const world = await start(t)
  await world.create(namespaces, { metadata: { name: 'other' } })
  const elsewhere = await world.create(secrets, { metadata: { namespace: 'other', name: 'elsewhere' } })
  const node = await world.create(nodes, { metadata: { name: 'n1' } })
  await world.make('of-nobody', { apiVersion: 'v1', kind: 'Secret', name: 'x', uid: '1-2-3' })
  await world.make('of-elsewhere', refer(elsewhere))
  await world.make('of-node', refer(node))
  assert.deepEqual(await world.names(), ['of-node'])
  const reasons = (await world.list(events)).map(event => event.reason)
  assert.deepEqual(reasons, ['OwnerRefInvalidNamespace'])
})

test('pods of a ReplicaSet are deleted with it', async t => {
  const world = await start(t)
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const set = await world.create(replicaSets, {
    metadata: { namespace: 'default', name: 'set' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  })
  await world.create(pods, {
    metadata: { namespace: 'default', name: 'pod', ownerReferences: [refer(set, true)] },
    spec: template.spec,
  })
  await world.run(
    world.client.delete(
      replicaSets,
      { namespace: 'default', name: 'set' },
      { propagationPolicy: 'Foreground' },
    ),
  )
  await world.settle()
  assert.deepEqual(await world.list(pods), [])
  assert.deepEqual(await world.list(replicaSets), [])
})
