/**
 * The conformance tests for StatefulSets, written from their descriptions; each test has the upstream test's
 * name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { StatefulSet, StatefulSetSpec } from '#/api/generated/apps/v1.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import type { Client } from '#/client/client.ts'
import { statefulSetController } from './stateful-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'
import { revisionNumbers, setReady, showPods } from './test-sets.ts'

const at = { namespace: 'default', name: 'ss' }

function templateOf(image: string): PodTemplateSpec {
  return { metadata: { labels: { app: 'ss' } }, spec: { containers: [{ name: 'web', image }] } }
}

function setOf(spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { ...at, labels: { app: 'ss' } },
    spec: {
      serviceName: 'test',
      selector: { matchLabels: { app: 'ss' } },
      template: templateOf('old'),
      ...spec,
    },
  }
}

/** `ss-0:old* ss-1:new`: names and images, with a star if ready. */
function shown(plane: TestControlPlane): Promise<string> {
  return showPods(plane, pod => `${pod.metadata.name}:${pod.spec?.containers[0]?.image}`)
}

async function changeSpec(plane: TestControlPlane, spec: Partial<StatefulSetSpec>): Promise<void> {
  await plane.change(statefulSets, 'default/ss', set => {
    return { ...set, spec: { ...setOf().spec!, ...set.spec, ...spec } }
  })
}

async function statusOf(plane: TestControlPlane): Promise<NonNullable<StatefulSet['status']>> {
  return (await plane.run(plane.client.get(statefulSets, at))).status!
}

async function revisionsOfPods(plane: TestControlPlane): Promise<readonly (string | undefined)[]> {
  return (await plane.list(pods)).map(pod => pod.metadata.labels?.['controller-revision-hash'])
}

/** Records pod events: `+ss-0` created, `-ss-0` deleted. */
async function follow(plane: TestControlPlane, act: () => Promise<void>): Promise<string> {
  const seen: string[] = []
  const stop = new AbortController()
  const list = await plane.run(plane.client.list(pods))
  const following = collect(plane.client, list.metadata.resourceVersion ?? '', stop.signal, seen)
  await act()
  stop.abort()
  await plane.run(following)
  return seen.join(' ')
}

async function collect(
  client: Client,
  resourceVersion: string,
  signal: AbortSignal,
  seen: string[],
): Promise<void> {
  try {
    for await (const event of client.watch(pods, { resourceVersion, signal })) {
      const sign = { ADDED: '+', DELETED: '-', MODIFIED: '', BOOKMARK: '' }[event.type]
      if (sign) seen.push(`${sign}${event.object.metadata.name}`)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

test('StatefulSet, Scaling', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const came = await follow(plane, async () => {
    await plane.create(statefulSets, setOf())
    await runAllPods(plane)
    await setReady(plane, 'default/ss-0', 'False')
    assert.equal((await statusOf(plane)).readyReplicas, undefined)
    await changeSpec(plane, { replicas: 3 })
    await plane.advance(10_000)
    assert.equal(await shown(plane), 'ss-0:old')
    await runAllPods(plane)
  })
  assert.equal(came, '+ss-0 +ss-1 +ss-2')
  const went = await follow(plane, async () => {
    for (const name of ['ss-0', 'ss-1', 'ss-2']) await setReady(plane, `default/${name}`, 'False')
    await changeSpec(plane, { replicas: 0 })
    await plane.advance(10_000)
    assert.equal(await shown(plane), 'ss-0:old ss-1:old ss-2:old')
    await runAllPods(plane)
  })
  assert.equal(went, '-ss-2 -ss-1 -ss-0')
})

test('StatefulSet, Burst Scaling', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ podManagementPolicy: 'Parallel' }))
  await runAllPods(plane)
  await setReady(plane, 'default/ss-0', 'False')
  await changeSpec(plane, { replicas: 3 })
  assert.equal(await shown(plane), 'ss-0:old ss-1:old ss-2:old')
  await runAllPods(plane)
  for (const name of ['ss-0', 'ss-1', 'ss-2']) await setReady(plane, `default/${name}`, 'False')
  await changeSpec(plane, { replicas: 0 })
  assert.equal(await shown(plane), '')
  assert.equal((await statusOf(plane)).replicas, 0)
})

test('StatefulSet, Recreate Failed Pod', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  for (const phase of ['Failed', 'Succeeded']) {
    const [evicted] = await plane.list(pods)
    await plane.changeStatus(pods, 'default/ss-0', pod => ({ ...pod, status: { phase, reason: 'Evicted' } }))
    const [again] = await plane.list(pods)
    assert.equal(again?.metadata.name, 'ss-0')
    assert.notEqual(again.metadata.uid, evicted?.metadata.uid)
  }
})

test('StatefulSet resource Replica scaling', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  await runAllPods(plane)
  const { client, run } = plane
  const scale = await run(client.getSubresource<Scale>(statefulSets, { ...at, subresource: 'scale' }))
  assert.deepEqual([scale.spec?.replicas, scale.status?.replicas], [1, 1])
  const two = { ...scale, metadata: at, spec: { replicas: 2 } }
  const result = await run(client.updateSubresource(statefulSets, { ...at, subresource: 'scale' }, two))
  assert.equal(result.spec?.replicas, 2)
  await plane.settle()
  await runAllPods(plane)
  assert.equal(await shown(plane), 'ss-0:old* ss-1:old*')
  const patch = { spec: { replicas: 4 } }
  await run(client.patch(statefulSets, { ...at, subresource: 'scale' }, { type: 'merge', patch }))
  assert.equal((await run(client.get(statefulSets, at))).spec?.replicas, 4)
  await plane.settle()
  await runAllPods(plane)
  assert.equal((await statusOf(plane)).replicas, 4)
})

test('StatefulSet, list, patch and delete a collection of StatefulSets', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  await runAllPods(plane)
  const { client, run } = plane
  const patch = {
    metadata: { labels: { 'test-ss': 'patched' } },
    spec: {
      replicas: 2,
      template: {
        spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'web', image: 'new' }] },
      },
    },
  }
  await run(client.patch(statefulSets, at, { type: 'strategic', patch }))
  await plane.settle()
  await runAllPods(plane)
  assert.equal(await shown(plane), 'ss-0:new* ss-1:new*')
  const labelSelector = 'test-ss=patched'
  const listed = await run(client.list(statefulSets, { labelSelector }))
  assert.equal(listed.items[0]?.spec?.template.spec?.terminationGracePeriodSeconds, 1)
  await run(client.deleteCollection(statefulSets, { namespace: 'default', labelSelector }))
  assert.deepEqual((await run(client.list(statefulSets, { labelSelector }))).items, [])
})

test('StatefulSet, Rolling Update', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ replicas: 3 }))
  await runAllPods(plane)
  const first = await statusOf(plane)
  assert.equal(first.currentRevision, first.updateRevision)
  assert.deepEqual(new Set(await revisionsOfPods(plane)), new Set([first.currentRevision]))
  const update = async (image: string): Promise<string> => {
    const pace = await follow(plane, async () => {
      await setReady(plane, 'default/ss-1', 'False')
      await changeSpec(plane, { template: templateOf(image) })
      const begun = await statusOf(plane)
      assert.notEqual(begun.currentRevision, begun.updateRevision)
      await runAllPods(plane)
    })
    assert.equal(pace, '-ss-2 +ss-2 -ss-1 +ss-1 -ss-0 +ss-0')
    const { currentRevision = '', updateRevision } = await statusOf(plane)
    assert.equal(currentRevision, updateRevision)
    assert.deepEqual(new Set(await revisionsOfPods(plane)), new Set([currentRevision]))
    return currentRevision
  }
  assert.notEqual(await update('new'), first.currentRevision)
  assert.equal(await shown(plane), 'ss-0:new* ss-1:new* ss-2:new*')
  assert.equal(await update('old'), first.currentRevision)
  assert.equal(await shown(plane), 'ss-0:old* ss-1:old* ss-2:old*')
  assert.deepEqual(await revisionNumbers(plane), [2, 3])
})

test('StatefulSet, Rolling Update with Partition', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const strategy = (partition: number): Partial<StatefulSetSpec> => {
    return { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } } }
  }
  await plane.create(statefulSets, setOf({ replicas: 3, ...strategy(3) }))
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('new') })
  const { currentRevision, updateRevision } = await statusOf(plane)
  assert.notEqual(currentRevision, updateRevision)
  assert.equal(await shown(plane), 'ss-0:old* ss-1:old* ss-2:old*')
  await changeSpec(plane, strategy(2))
  await runAllPods(plane)
  const canary = 'ss-0:old* ss-1:old* ss-2:new*'
  assert.equal(await shown(plane), canary)
  for (const name of ['ss-0', 'ss-2']) {
    await plane.run(plane.client.delete(pods, { namespace: 'default', name }))
    await plane.settle()
  }
  await runAllPods(plane)
  assert.equal(await shown(plane), canary)
  assert.deepEqual(await revisionsOfPods(plane), [currentRevision, currentRevision, updateRevision])
  await changeSpec(plane, strategy(1))
  await runAllPods(plane)
  assert.equal(await shown(plane), 'ss-0:old* ss-1:new* ss-2:new*')
  await changeSpec(plane, strategy(0))
  await runAllPods(plane)
  assert.equal(await shown(plane), 'ss-0:new* ss-1:new* ss-2:new*')
  assert.equal((await statusOf(plane)).currentRevision, updateRevision)
})

test('StatefulSet, status sub-resource', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  await runAllPods(plane)
  const condition = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test' }
  const read = await plane.run(
    plane.client.getSubresource<StatefulSet>(statefulSets, { ...at, subresource: 'status' }),
  )
  assert.equal(read.status?.readyReplicas, 1)
  await plane.changeStatus(statefulSets, 'default/ss', set => {
    return { ...set, status: { ...set.status!, conditions: [condition] } }
  })
  assert.deepEqual((await statusOf(plane)).conditions, [condition])
  const patch = { status: { conditions: [{ type: 'StatusPatched', status: 'True' }] } }
  await plane.run(
    plane.client.patch(statefulSets, { ...at, subresource: 'status' }, { type: 'merge', patch }),
  )
  await plane.settle()
  await changeSpec(plane, { replicas: 0 })
  const { conditions, replicas } = await statusOf(plane)
  assert.deepEqual([conditions?.map(({ type }) => type), replicas], [['StatusPatched'], 0])
})
