import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { disruptionController } from './disruption.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const labels = { app: 'web' }
const readyCondition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
const ready = { phase: 'Running', conditions: [readyCondition] }

async function startSet(t: TestContext, count: number): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [replicaSetController, disruptionController])
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  await plane.create(replicaSets, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: count, selector: { matchLabels: labels }, template },
  })
  for (const pod of await plane.list(pods))
    await plane.changeStatus(pods, keyOf(pod), each => ({ ...each, status: ready }))
  return plane
}

test('the eviction API evicts as many pods as the budget allows, more after recovery', async t => {
  const plane = await startSet(t, 3)
  await plane.create(podDisruptionBudgets, {
    metadata: { namespace: 'default', name: 'budget' },
    spec: { minAvailable: 2, selector: { matchLabels: labels } },
  })
  const allowed = async (): Promise<number | undefined> =>
    (await plane.list(podDisruptionBudgets))[0]?.status?.disruptionsAllowed
  assert.equal(await allowed(), 1)
  const evict = async (pod: Stored<Pod>): Promise<unknown> => {
    const at = { namespace: 'default', name: pod.metadata.name, subresource: 'eviction' }
    return plane.run(
      plane.client.createSubresource(pods, at, { metadata: { namespace: 'default', name: at.name } }),
    )
  }
  const [first, second] = await plane.list(pods)
  await evict(first!)
  await assert.rejects(evict(second!), error => isApiError(error, 'TooManyRequests'))
  await plane.settle()
  assert.equal(await allowed(), 0)
  const replacement = (await plane.list(pods)).find(pod => pod.status?.phase !== 'Running')
  await plane.changeStatus(pods, keyOf(replacement!), each => ({ ...each, status: ready }))
  assert.equal(await allowed(), 1)
  await evict(second!)
})

test('a stale DisruptionTarget condition is reset', async t => {
  const plane = await startSet(t, 1)
  const [pod] = await plane.list(pods)
  await plane.changeStatus(pods, keyOf(pod!), each => ({
    ...each,
    status: {
      ...ready,
      conditions: [
        readyCondition,
        { type: 'DisruptionTarget', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  }))
  await plane.advance(125_000)
  const [after] = await plane.list(pods)
  assert.equal(after?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.status, 'False')
})
