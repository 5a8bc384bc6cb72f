import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import { claimObjects, planAdoption } from './controller-ref.ts'
import { startTestControlPlane } from '../test-control-plane.ts'
import { stored } from '../test-stored.ts'

const selector = selectorFromLabels({ app: 'web' })
const spec = { containers: [{ name: 'web', image: 'web' }] }

/** `name owner app`, with `-` for none, and `!` after the name if the pod is being deleted. */
function podFrom(text: string): Stored<Pod> {
  const [name = '', owner = '-', app = ''] = text.split(' ')
  const reference = { apiVersion: 'v1', kind: 'K', name: owner, uid: owner, controller: true }
  return stored({
    metadata: {
      name: name.replace('!', ''),
      uid: name,
      labels: { app },
      ...(owner !== '-' && { ownerReferences: [reference] }),
      ...(name.endsWith('!') && { deletionTimestamp: 'now' }),
    },
  })
}

test('matching orphans are adopted, owned objects that no longer match are released', () => {
  const check = (owner: string, candidates: string[], expected: string): void => {
    const plan = planAdoption({
      owner: podFrom(`${owner} - x`),
      selector,
      candidates: candidates.map(podFrom),
      isAdoptable: pod => pod.metadata.name !== 'odd',
    })
    const namesOf = (some: readonly Pod[]): string => some.map(pod => pod.metadata.name).join('')
    assert.equal(`${namesOf(plan.keep)}|${namesOf(plan.adopt)}|${namesOf(plan.release)}`, expected)
  }
  check('me', ['a me web', 'b - web', 'c me other', 'd - other', 'e you web', 'f you other'], 'a|b|c')
  check('me', ['a! me web', 'b! - web', 'c! me other', 'odd - web'], 'a||c')
  check('me!', ['a me! web', 'b - web', 'c me! other'], 'a||')
})

async function setUp(t: Parameters<typeof startTestControlPlane>[0]) {
  const plane = await startTestControlPlane(t, [])
  const set = await plane.create(replicaSets, {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec },
    },
  })
  const make = (name: string, app: string): Promise<Stored<Pod>> => {
    return plane.create(pods, { metadata: { namespace: 'default', name, labels: { app } }, spec })
  }
  const claimFor = (
    owner: Stored<ReplicaSet>,
    candidates: readonly Stored<Pod>[],
  ): Promise<readonly Stored<Pod>[]> => {
    const { client } = plane
    const work = { client, resource: pods, ownerResource: replicaSets, owner, selector, candidates }
    return plane.run(claimObjects(work))
  }
  const ownersOf = async (name: string): Promise<unknown> => {
    const pod = await plane.run(plane.client.get(pods, { namespace: 'default', name }))
    return (pod.metadata.ownerReferences ?? []).map(each => `${each.kind} ${each.name} ${each.controller}`)
  }
  return { plane, set, make, claimFor, ownersOf }
}

test('claimObjects writes adoptions and releases and returns the controlled objects', async t => {
  const { plane, set, make, claimFor, ownersOf } = await setUp(t)
  const [adopted] = await claimFor(set, [await make('a', 'web'), await make('b', 'other')])
  assert.equal(adopted?.metadata.name, 'a')
  assert.deepEqual(await ownersOf('a'), ['ReplicaSet web true'])
  assert.deepEqual(await ownersOf('b'), [])
  const changed = await plane.change(pods, 'default/a', pod => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { app: 'other' } },
  }))
  assert.deepEqual(await claimFor(set, [changed]), [])
  assert.deepEqual(await ownersOf('a'), [])
})

test('an orphan that another controller adopted first is not claimed', async t => {
  const { plane, set, make, claimFor, ownersOf } = await setUp(t)
  const seen = await make('a', 'web')
  const rival = await plane.create(replicaSets, { ...set, metadata: { namespace: 'default', name: 'rival' } })
  assert.equal((await claimFor(rival, [seen])).length, 1)
  assert.deepEqual(await claimFor(set, [seen]), [])
  assert.deepEqual(await ownersOf('a'), ['ReplicaSet rival true'])
})

test('an orphan that was deleted or replaced is not adopted', async t => {
  const { plane, set, make, claimFor, ownersOf } = await setUp(t)
  const seen = await make('a', 'web')
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'a' }))
  assert.deepEqual(await claimFor(set, [seen]), [])
  await make('a', 'web')
  assert.deepEqual(await claimFor(set, [seen]), [])
  assert.deepEqual(await ownersOf('a'), [])
})

test('an owner that was deleted according to the API server adopts no orphans', async t => {
  const { plane, set, make, claimFor, ownersOf } = await setUp(t)
  const orphan = await make('a', 'web')
  await plane.run(plane.client.delete(replicaSets, { namespace: 'default', name: 'web' }))
  assert.deepEqual(await claimFor(set, [orphan]), [])
  const { metadata: _, ...rest } = set
  await plane.create(replicaSets, { ...rest, metadata: { namespace: 'default', name: 'web' } })
  assert.deepEqual(await claimFor(set, [orphan]), [])
  assert.deepEqual(await ownersOf('a'), [])
})
