import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import {
  podGarbageCollectorController,
  isTerminatingWithoutKubelet,
  planTerminatedPods,
} from './pod-garbage-collector.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { stored } from './test-stored.ts'

const namespace = 'default'

function podOf(
  name: string,
  { nodeName, finalizers }: { nodeName?: string; finalizers?: readonly string[] } = {},
): Pod {
  return {
    metadata: { namespace, name, ...(finalizers && { finalizers }) },
    spec: { containers: [{ name: 'web', image: 'web' }], ...(nodeName && { nodeName }) },
  }
}

async function names(plane: TestControlPlane): Promise<readonly string[]> {
  return (await plane.list(pods)).map(({ metadata }) => metadata.name).sort()
}

test('terminated pods beyond the threshold are deleted, oldest first', async t => {
  const plane = await startTestControlPlane(t, [podGarbageCollectorController({ terminatedPodThreshold: 2 })])
  for (const name of ['d', 'c', 'b', 'a']) {
    await plane.create(pods, podOf(name))
    await plane.changeStatus(pods, `${namespace}/${name}`, pod => ({
      ...pod,
      status: { phase: 'Succeeded' },
    }))
  }
  await plane.create(pods, podOf('running'))
  assert.equal((await names(plane)).length, 5)
  await plane.advance(21_000)
  assert.deepEqual(await names(plane), ['a', 'b', 'running'])
})

test('pods of a deleted node are deleted after the quarantine with a condition, unless it returns', async t => {
  const plane = await startTestControlPlane(t, [podGarbageCollectorController()])
  for (const name of ['n1', 'n2']) await plane.create(nodes, { metadata: { name } })
  await plane.create(pods, podOf('a', { nodeName: 'n1', finalizers: ['example.com/look'] }))
  await plane.create(pods, podOf('b', { nodeName: 'n2' }))
  await plane.create(pods, podOf('c', { nodeName: 'never' }))
  for (const name of ['n1', 'n2']) await plane.run(plane.client.delete(nodes, { name }))
  await plane.advance(30_000)
  assert.deepEqual(await names(plane), ['a', 'b', 'c'])
  await plane.create(nodes, { metadata: { name: 'n2' } })
  await plane.advance(30_000)
  assert.deepEqual(await names(plane), ['a', 'b'])
  const [gone] = await plane.list(pods)
  assert.equal(gone?.status?.phase, 'Failed')
  const { reason, message, status } =
    gone?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget') ?? {}
  assert.deepEqual([status, reason, message], ['True', 'DeletionByPodGC', 'PodGC: node no longer exists'])
  assert.notEqual(gone?.metadata.deletionTimestamp, undefined)
  const version = gone?.metadata.resourceVersion
  await plane.advance(600_000)
  assert.equal((await plane.list(pods))[0]?.metadata.resourceVersion, version)
})

test('a node deleted again starts a new quarantine', async t => {
  const plane = await startTestControlPlane(t, [podGarbageCollectorController()])
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.create(pods, podOf('a', { nodeName: 'n1' }))
  await plane.run(plane.client.delete(nodes, { name: 'n1' }))
  await plane.advance(30_000)
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.run(plane.client.delete(nodes, { name: 'n1' }))
  await plane.advance(30_000)
  assert.deepEqual(await names(plane), ['a'])
  await plane.advance(15_000)
  assert.deepEqual(await names(plane), [])
})

test('an unscheduled terminating pod with a finalizer becomes Failed', async t => {
  const plane = await startTestControlPlane(t, [podGarbageCollectorController()])
  await plane.create(pods, podOf('a', { finalizers: ['example.com/look'] }))
  await plane.run(plane.client.delete(pods, { namespace, name: 'a' }))
  await plane.settle()
  assert.equal((await plane.list(pods))[0]?.status?.phase, 'Failed')
})

test('terminating pods on an out-of-service node are deleted at once', async t => {
  const plane = await startTestControlPlane(t, [podGarbageCollectorController()])
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.create(pods, podOf('a', { nodeName: 'n1' }))
  await plane.create(pods, podOf('b', { nodeName: 'n1' }))
  const setReady = (status: string): Promise<Node> => {
    return plane.changeStatus(nodes, 'n1', node => ({
      ...node,
      status: { conditions: [{ type: 'Ready', status }] },
    }))
  }
  await setReady('True')
  await plane.run(plane.client.delete(pods, { namespace, name: 'a' }))
  const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }]
  await plane.change(nodes, 'n1', node => ({ ...node, spec: { ...node.spec, taints } }))
  assert.deepEqual(await names(plane), ['a', 'b'])
  await setReady('Unknown')
  assert.deepEqual(await names(plane), ['b'])
  await plane.run(plane.client.delete(pods, { namespace, name: 'b' }))
  await plane.settle()
  assert.deepEqual(await names(plane), [])
})

test('planTerminatedPods deletes evicted pods first, then the oldest', () => {
  const pod = (name: string, created: string, reason?: string): Stored<Pod> =>
    stored({
      metadata: { name, creationTimestamp: created },
      status: { phase: 'Failed', ...(reason && { reason }) },
    })
  const all = [
    pod('new', '2026-01-03'),
    pod('b', '2026-01-01'),
    pod('a', '2026-01-01'),
    pod('out', '2026-01-04', 'Evicted'),
  ]
  const order = [3, 2, 1, 0, 9].map(max =>
    planTerminatedPods(all, max)
      .map(({ metadata }) => metadata.name)
      .join(' '),
  )
  assert.deepEqual(order, ['out', 'out a', 'out a b', 'out a b new', ''])
})

test('isTerminatingWithoutKubelet is false once only finalizers are left', () => {
  const going = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 }
  const check = (pod: Pod, expected: boolean): void =>
    assert.equal(isTerminatingWithoutKubelet(pod, undefined), expected)
  check({ metadata: going }, true)
  check({ metadata: {} }, false)
  check({ metadata: going, spec: { nodeName: 'n1', containers: [] } }, false)
  check({ metadata: going, status: { phase: 'Failed' } }, true)
  check({ metadata: { ...going, deletionGracePeriodSeconds: 0 }, status: { phase: 'Failed' } }, false)
  check({ metadata: { ...going, deletionGracePeriodSeconds: 0 } }, true)
})
