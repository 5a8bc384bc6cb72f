/** The conformance tests for DaemonSets and ControllerRevisions; each test has the upstream test's name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerRevisions, daemonSets } from '#/api/generated/apps/v1-resources.ts'
import type { ControllerRevision, DaemonSet, DaemonSetSpec } from '#/api/generated/apps/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { keyOf, type ObjectMeta, type Stored } from '#/api/metadata.ts'
import { daemonSetController } from './daemon-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'
import { showPods } from './test-sets.ts'

const at = { namespace: 'default', name: 'ds' }
const labels = { 'daemonset-name': 'ds' }
const labelSelector = 'daemonset-name=ds'

function templateOf(image: string): PodTemplateSpec {
  return { metadata: { labels }, spec: { containers: [{ name: 'app', image }] } }
}

function setOf(spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    metadata: { ...at, labels },
    spec: { selector: { matchLabels: labels }, template: templateOf('old'), ...spec },
  }
}

function nodeOf(pod: Pod): string {
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? ''
}

/** `n1:old* n2:new`: image by node, with a star if the pod is ready. */
function shown(plane: TestControlPlane): Promise<string> {
  return showPods(plane, pod => `${nodeOf(pod)}:${pod.spec?.containers[0]?.image}`)
}

async function startWithNodes(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [daemonSetController])
  for (const name of ['n1', 'n2']) await plane.create(nodes, { metadata: { name, labels: { node: name } } })
  return plane
}

async function changeSpec(plane: TestControlPlane, spec: Partial<DaemonSetSpec>): Promise<void> {
  await plane.change(daemonSets, 'default/ds', set => {
    return { ...set, spec: { ...setOf().spec!, ...set.spec, ...spec } }
  })
}

async function labelNode(plane: TestControlPlane, color: string): Promise<void> {
  await plane.change(nodes, 'n1', node => {
    return { ...node, metadata: { ...node.metadata, labels: { ...(color && { color }) } } }
  })
}

async function revisionsOf(plane: TestControlPlane): Promise<readonly Stored<ControllerRevision>[]> {
  return (await plane.run(plane.client.list(controllerRevisions, { labelSelector }))).items
}

test('DaemonSet-Creation', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:old* n2:old*')
  const [pod] = await plane.list(pods)
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: pod!.metadata.name }))
  await plane.settle()
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:old* n2:old*')
})

test('DaemonSet-NodeSelection', async t => {
  const plane = await startWithNodes(t)
  const template = (color: string): PodTemplateSpec => {
    return { metadata: { labels }, spec: { ...templateOf('old').spec!, nodeSelector: { color } } }
  }
  await plane.create(daemonSets, setOf({ template: template('blue') }))
  assert.equal(await shown(plane), '')
  await labelNode(plane, 'blue')
  assert.equal(await shown(plane), 'n1:old')
  await labelNode(plane, 'green')
  assert.equal(await shown(plane), '')
  await changeSpec(plane, {
    template: template('green'),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
  })
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:old*')
  const [set] = await plane.list(daemonSets)
  assert.equal(set?.status?.desiredNumberScheduled, 1)
  assert.equal(set.status.numberAvailable, 1)
})

test('DaemonSet with node affinity runs on matching nodes', async t => {
  const plane = await startWithNodes(t)
  const matchExpressions = [{ key: 'color', operator: 'In', values: ['blue'] }]
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms: [{ matchExpressions }] }
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } }
  const spec = { ...templateOf('old').spec!, affinity }
  await plane.create(daemonSets, setOf({ template: { metadata: { labels }, spec } }))
  assert.equal(await shown(plane), '')
  await labelNode(plane, 'blue')
  assert.equal(await shown(plane), 'n1:old')
  await labelNode(plane, '')
  assert.equal(await shown(plane), '')
})

test('DaemonSet-FailedPodCreation', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  const [failed] = await plane.list(pods)
  await plane.changeStatus(pods, keyOf(failed!), pod => ({ ...pod, status: { phase: 'Failed' } }))
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:old* n2:old*')
  assert.ok((await plane.list(pods)).every(pod => pod.metadata.uid !== failed?.metadata.uid))
})

test('DaemonSet-RollingUpdate', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  const check = async (count: number): Promise<void> => {
    const newest = (await revisionsOf(plane)).find(({ revision }) => revision === count)
    const hash = newest?.metadata.labels?.['controller-revision-hash']
    const ofPods = (await plane.list(pods)).map(pod => pod.metadata.labels?.['controller-revision-hash'])
    assert.deepEqual(ofPods, [hash, hash])
    assert.equal((await revisionsOf(plane)).length, count)
  }
  await check(1)
  await changeSpec(plane, { template: templateOf('new') })
  assert.equal((await shown(plane)).split('*').length, 2, 'one at a time')
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:new* n2:new*')
  await check(2)
})

test('DaemonSet-Rollback', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('foo:non-existent') })
  const kept = (await plane.list(pods)).filter(pod => pod.spec?.containers[0]?.image === 'old')
  assert.equal(kept.length, 1)
  await changeSpec(plane, { template: templateOf('old') })
  await runAllPods(plane)
  assert.equal(await shown(plane), 'n1:old* n2:old*')
  const uids = (await plane.list(pods)).map(pod => pod.metadata.uid)
  assert.ok(uids.includes(kept[0]!.metadata.uid))
})

test('DaemonSet, list and delete a collection of DaemonSets', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  const { client, run } = plane
  assert.equal((await run(client.list(daemonSets, { labelSelector }))).items.length, 1)
  await run(client.deleteCollection(daemonSets, { namespace: 'default', labelSelector }))
  assert.deepEqual((await run(client.list(daemonSets, { labelSelector }))).items, [])
})

test('DaemonSet, status sub-resource', async t => {
  const plane = await startWithNodes(t)
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  const { client, run } = plane
  const read = await run(client.getSubresource<DaemonSet>(daemonSets, { ...at, subresource: 'status' }))
  assert.equal(read.status?.desiredNumberScheduled, 2)
  const condition = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test' }
  await plane.changeStatus(daemonSets, 'default/ds', set => {
    return { ...set, status: { ...set.status!, conditions: [condition] } }
  })
  assert.deepEqual((await run(client.get(daemonSets, at))).status?.conditions, [condition])
  const patch = { status: { conditions: [{ type: 'StatusPatched', status: 'True' }] } }
  await run(client.patch(daemonSets, { ...at, subresource: 'status' }, { type: 'merge', patch }))
  await plane.create(nodes, { metadata: { name: 'n3' } })
  const { status } = await run(client.get(daemonSets, at))
  assert.deepEqual(
    [status?.conditions?.map(({ type }) => type), status?.desiredNumberScheduled],
    [['StatusPatched'], 3],
  )
})

test('ControllerRevision, resource lifecycle', async t => {
  const plane = await startWithNodes(t)
  const { client, run } = plane
  await plane.create(daemonSets, setOf())
  await runAllPods(plane)
  const before = (await plane.list(pods)).map(pod => pod.metadata.uid)
  const [initial] = await revisionsOf(plane)
  const { name, labels: given, annotations, ownerReferences } = initial!.metadata
  const patch = { metadata: { labels: { [name]: 'patched' } } }
  const patched = await run(client.patch(controllerRevisions, { ...at, name }, { type: 'strategic', patch }))
  assert.equal(patched.metadata.labels?.[name], 'patched')
  const metadata = {
    name: 'ds-other',
    namespace: 'default',
    labels: { ...given, 'controller-revision-hash': 'other' },
    annotations: annotations!,
    ownerReferences: ownerReferences!,
  } satisfies ObjectMeta
  await plane.create(controllerRevisions, { metadata, data: initial!.data!, revision: 2 })
  assert.equal((await revisionsOf(plane)).length, 2)
  await run(client.delete(controllerRevisions, { ...at, name }))
  await plane.settle()
  const [left, ...more] = await revisionsOf(plane)
  assert.deepEqual([left?.metadata.name, more.length], ['ds-other', 0])
  await plane.change(controllerRevisions, 'default/ds-other', each => {
    return { ...each, metadata: { ...each.metadata, labels: { ...each.metadata.labels, is: 'updated' } } }
  })
  const after = (await plane.list(pods)).map(pod => pod.metadata.uid)
  assert.deepEqual(after, before, 'the template is the same, and so are the pods')
  const change = { spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } } }
  await run(client.patch(daemonSets, at, { type: 'strategic', patch: change }))
  await plane.settle()
  assert.equal((await revisionsOf(plane)).length, 2)
  const selected = { namespace: 'default', labelSelector: 'is=updated' }
  await run(client.deleteCollection(controllerRevisions, selected))
  await plane.settle()
  assert.deepEqual(
    (await revisionsOf(plane)).map(({ revision }) => revision),
    [3],
  )
})
