import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { events, namespaces, pods, replicationControllers } from '#/api/generated/core/v1-resources.ts'
import { forbidden } from '#/api/errors.ts'
import { keyOf } from '#/api/metadata.ts'
import { replicaSetController, replicationControllerController } from './replica-set.ts'
import { refuseCreation, usualAdmission } from './test-admission.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { bindPod, runAllPods, runningPod, stopPods } from './test-pods.ts'

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
}

function setOf(replicas: number, spec: Partial<ReplicaSet['spec']> = {}): ReplicaSet {
  return {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template, ...spec },
  }
}

test('a ReplicaSet creates its pods, reports them and replaces deleted ones', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  await plane.create(replicaSets, setOf(3))
  const made = await plane.list(pods, 'default')
  assert.equal(made.length, 3)
  for (const pod of made) {
    assert.match(pod.metadata.name, /^web-[a-z0-9]{5}$/)
    assert.equal(pod.metadata.ownerReferences?.[0]?.name, 'web')
  }
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: made[0]!.metadata.name }))
  await plane.settle()
  const [set] = await plane.list(replicaSets)
  assert.deepEqual(set?.status, {
    replicas: 3,
    fullyLabeledReplicas: 3,
    terminatingReplicas: 0,
    observedGeneration: 1,
  })
  const recorded = await plane.list(events)
  assert.deepEqual(new Set(recorded.map(event => event.reason)), new Set(['SuccessfulCreate']))
})

test('pods are available after minReadySeconds', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  await plane.create(replicaSets, setOf(1, { minReadySeconds: 30 }))
  const [pod] = await plane.list(pods)
  await plane.changeStatus(pods, keyOf(pod!), each => runningPod(each, plane.platform.clock.now()))
  const counts = async (): Promise<unknown> => {
    const [set] = await plane.list(replicaSets)
    return [set?.status?.readyReplicas ?? 0, set?.status?.availableReplicas ?? 0]
  }
  assert.deepEqual(await counts(), [1, 0])
  await plane.advance(31_000)
  assert.deepEqual(await counts(), [1, 1])
})

test('orphans are adopted, and pods that no longer match are released and replaced', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  const orphan = {
    metadata: { ...template.metadata, namespace: 'default', name: 'orphan' },
    spec: template.spec,
  }
  await plane.create(pods, orphan)
  await plane.create(replicaSets, setOf(2))
  const names = (await plane.list(pods)).map(pod => pod.metadata.name)
  assert.equal(names.length, 2)
  assert.ok(names.includes('orphan'))
  await plane.change(pods, 'default/orphan', pod => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { app: 'other' } },
  }))
  const after = await plane.list(pods)
  assert.equal(after.length, 3)
  const released = after.find(pod => pod.metadata.name === 'orphan')
  assert.deepEqual(released?.metadata.ownerReferences ?? [], [])
})

test('a ReplicationController keeps ready pods when scaling down', async t => {
  const plane = await startTestControlPlane(t, [replicationControllerController])
  await plane.create(replicationControllers, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 4, selector: { app: 'web' }, template },
  })
  const [first] = await plane.list(pods)
  await plane.changeStatus(pods, keyOf(first!), pod => runningPod(pod, plane.platform.clock.now()))
  await plane.change(replicationControllers, 'default/web', each => ({
    ...each,
    spec: { ...each.spec, replicas: 1 },
  }))
  assert.deepEqual(
    (await plane.list(pods)).map(pod => pod.metadata.name),
    [first?.metadata.name],
  )
})

test('rejected pods are reported once and retried with backoff', async t => {
  let tries = 0
  let isRefused = true
  const admission = refuseCreation(plural => {
    if (plural !== 'pods' || !isRefused) return undefined
    // The pod names differ, and so do the error messages.
    return forbidden({ group: '', kind: 'pods', name: `web-${++tries}` }, 'exceeded quota')
  })
  const plane = await startTestControlPlane(t, [replicaSetController], { admission })
  await plane.create(replicaSets, setOf(8))
  const [first] = await plane.list(replicaSets)
  assert.deepEqual(
    first?.status?.conditions?.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    ['ReplicaFailure FailedCreate pods "web-1" is forbidden: exceeded quota'],
  )
  await plane.advance(120_000)
  assert.ok(tries > 5 && tries < 25, `${tries}`)
  assert.deepEqual((await plane.list(replicaSets))[0]?.metadata, first?.metadata)
  const event = (await plane.list(events)).find(({ reason }) => reason === 'FailedCreate')
  assert.match(event?.message ?? '', /^Error creating: pods "web-\d+" is forbidden: exceeded quota$/)
  isRefused = false
  await plane.advance(600_000)
  const [last] = await plane.list(replicaSets)
  assert.deepEqual([last?.status?.replicas, last?.status?.conditions], [8, undefined])
})

test('many pods are created and deleted in bursts', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  await plane.create(replicaSets, setOf(505))
  assert.equal((await plane.list(pods)).length, 505)
  await plane.change(replicaSets, 'default/web', set => ({ ...set, spec: { ...set.spec!, replicas: 0 } }))
  assert.equal((await plane.list(pods)).length, 0)
})

test('terminal and terminating pods are replaced at once and counted until deleted', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  await plane.create(replicaSets, setOf(2))
  const [failing, leaving] = await plane.list(pods)
  await bindPod(plane, leaving!, 'n1')
  await runAllPods(plane)
  await plane.changeStatus(pods, keyOf(failing!), pod => ({ ...pod, status: { phase: 'Failed' } }))
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: leaving?.metadata.name ?? '' }))
  await plane.settle()
  const countsOf = async (): Promise<unknown> => {
    const [set] = await plane.list(replicaSets)
    return [(await plane.list(pods)).length, set?.status?.replicas, set?.status?.terminatingReplicas]
  }
  assert.deepEqual(await countsOf(), [4, 2, 1])
  await stopPods(plane)
  assert.deepEqual(await countsOf(), [3, 2, 0])
})

test('a ReplicaSet in a terminating namespace creates no pods and events', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController], { admission: await usualAdmission() })
  await plane.create(namespaces, { metadata: { name: 'gone' } })
  await plane.create(replicaSets, { ...setOf(1), metadata: { namespace: 'gone', name: 'web' } })
  await plane.run(plane.client.delete(namespaces, { name: 'gone' }))
  await plane.change(replicaSets, 'gone/web', set => ({ ...set, spec: { ...set.spec!, replicas: 3 } }))
  await plane.advance(60_000)
  const [set] = await plane.list(replicaSets)
  assert.deepEqual(
    [set?.status?.replicas, set?.status?.observedGeneration, set?.status?.conditions],
    [1, 2, undefined],
  )
})

test('pods on nodes with more related pods are deleted first', async t => {
  const plane = await startTestControlPlane(t, [replicaSetController])
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'd', controller: true }
  const revision = (name: string, replicas: number): ReplicaSet => {
    const labels = { app: name }
    const spec = {
      replicas,
      selector: { matchLabels: labels },
      template: { ...template, metadata: { labels } },
    }
    return { metadata: { namespace: 'default', name, ownerReferences: [owner] }, spec }
  }
  await plane.create(replicaSets, revision('old', 2))
  await plane.create(replicaSets, revision('new', 2))
  const named = (name: string) => async () => {
    return (await plane.list(pods)).filter(pod => pod.metadata.labels?.['app'] === name)
  }
  const [one, other] = await named('old')()
  await bindPod(plane, one!, 'calm')
  await bindPod(plane, other!, 'busy')
  for (const pod of await named('new')()) await bindPod(plane, pod, 'busy')
  await runAllPods(plane)
  await plane.change(replicaSets, 'default/old', set => ({ ...set, spec: { ...set.spec!, replicas: 1 } }))
  await stopPods(plane)
  assert.deepEqual(
    (await named('old')()).map(pod => pod.spec?.nodeName),
    ['calm'],
  )
})
