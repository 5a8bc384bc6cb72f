import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { disruptionController } from './disruption.ts'
import { planDisruptionBudget } from './disruption/plan.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { stored } from './test-stored.ts'

const labels = { app: 'web' }
const readyCondition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
const ready = { phase: 'Running', conditions: [readyCondition] }

function podOf(name: string, isReady: boolean): Stored<Pod> {
  return stored({ metadata: { namespace: 'default', name, labels }, ...(isReady && { status: ready }) })
}

test('planDisruptionBudget computes the allowed disruptions', () => {
  const cases: readonly [PodDisruptionBudget['spec'], string, number | undefined, string][] = [
    // Columns: budget, pods (+ ready, - not ready), replicas of their controllers, expected `currentHealthy
    // desiredHealthy expectedPods disruptionsAllowed`.
    [{ minAvailable: 2 }, '+++', 3, '3 2 3 1'],
    [{ minAvailable: 2 }, '++', 2, '2 2 2 0'],
    [{ minAvailable: 2 }, '+--', 3, '1 2 3 0'],
    [{ minAvailable: '50%' }, '+++', 3, '3 2 3 1'],
    [{ minAvailable: '50%' }, '++++', 10, '4 5 10 0'],
    [{ maxUnavailable: 1 }, '+++', 3, '3 2 3 1'],
    [{ maxUnavailable: 1 }, '++-', 3, '2 2 3 0'],
    [{ maxUnavailable: '30%' }, '++++', 4, '4 2 4 2'],
    [{ maxUnavailable: 5 }, '++', 2, '2 0 2 2'],
    [{ minAvailable: 1 }, '', 0, '0 1 0 0'],
    [{ maxUnavailable: 1 }, '++', undefined, '2 0 0 0'],
  ]
  for (const [spec, marks, wanted, expected] of cases) {
    const { status } = planDisruptionBudget({
      budget: { metadata: {}, spec: spec! },
      pods: marks.split('').map((mark, index) => podOf(`p${index}`, mark === '+')),
      scales: wanted === undefined ? [] : [{ uid: 'u', replicas: wanted }],
      nowMs: 0,
    })
    const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed } = status
    const got = [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed].join(' ')
    assert.equal(got, expected, `${JSON.stringify(spec)} ${marks}`)
  }
})

test('no disruption is allowed if the expected pods cannot be computed', () => {
  const budget: PodDisruptionBudget = {
    metadata: {},
    status: { currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 1 },
  }
  const { status } = planDisruptionBudget({
    budget,
    pods: [],
    scales: { error: new Error('no such kind') },
    nowMs: 0,
  })
  assert.equal(status.disruptionsAllowed, 0)
  assert.deepEqual(
    status.conditions?.map(({ reason, message }) => [reason, message]),
    [['SyncFailed', 'no such kind']],
  )
})

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
  const evict = async (pod: Pod): Promise<unknown> => {
    const at = { namespace: 'default', name: pod.metadata.name ?? '', subresource: 'eviction' }
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
