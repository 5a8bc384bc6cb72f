import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerRevisions, daemonSets } from '#/api/generated/apps/v1-resources.ts'
import type { DaemonSet, DaemonSetSpec } from '#/api/generated/apps/v1.ts'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Node, Pod, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import { daemonSetController } from './daemon-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runPods } from './test-pods.ts'
import { revisionNumbers, setReady, showPods } from './test-sets.ts'

function templateOf(image: string, spec: Partial<PodTemplateSpec['spec']> = {}): PodTemplateSpec {
  return { metadata: { labels: { app: 'log' } }, spec: { containers: [{ name: 'log', image }], ...spec } }
}

function setOf(spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    metadata: { namespace: 'default', name: 'log' },
    spec: { selector: { matchLabels: { app: 'log' } }, template: templateOf('one'), ...spec },
  }
}

async function addNodes(plane: TestControlPlane, ...made: readonly (string | Node)[]): Promise<void> {
  for (const node of made) await plane.create(nodes, typeof node === 'string' ? nodeOf(node) : node)
}

function nodeOf(name: string): Node {
  return { metadata: { name, labels: { 'kubernetes.io/hostname': name } } }
}

function nodeNameOf({ spec }: Pod): string {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return spec?.nodeName || (required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? '')
}

/** `a:one* b:two`: image by node, with a star if the pod is ready. */
function shown(plane: TestControlPlane): Promise<string> {
  return showPods(plane, pod => `${nodeNameOf(pod)}:${pod.spec?.containers[0]?.image}`)
}

async function changeSpec(plane: TestControlPlane, spec: Partial<DaemonSetSpec>): Promise<void> {
  await plane.change(daemonSets, 'default/log', set => {
    return { ...set, spec: { ...setOf().spec!, ...set.spec, ...spec } }
  })
}

async function statusOf(plane: TestControlPlane): Promise<NonNullable<DaemonSet['status']>> {
  const [set] = await plane.list(daemonSets)
  return set!.status!
}

test('every eligible node gets a daemon pod with affinity to it', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a', 'b')
  await plane.create(daemonSets, setOf())
  await runPods(plane)
  assert.equal(await shown(plane), 'a:one* b:one*')
  await addNodes(plane, 'c')
  assert.equal(await shown(plane), 'a:one* b:one* c:one')
  assert.deepEqual(await statusOf(plane), {
    currentNumberScheduled: 3,
    numberMisscheduled: 0,
    desiredNumberScheduled: 3,
    numberReady: 2,
    updatedNumberScheduled: 3,
    numberAvailable: 2,
    numberUnavailable: 1,
    observedGeneration: 1,
  })
  const [pod] = await plane.list(pods)
  const [revision] = await plane.list(controllerRevisions)
  const hash = revision?.metadata.labels?.['controller-revision-hash'] ?? ''
  assert.equal(revision?.metadata.name, `log-${hash}`)
  assert.deepEqual(pod?.metadata.labels, {
    'app': 'log',
    'controller-revision-hash': hash,
    'pod-template-generation': '1',
  })
  assert.deepEqual(
    pod.spec?.tolerations?.map(({ key, effect }) => `${key?.replace('node.kubernetes.io/', '')} ${effect}`),
    [
      'not-ready NoExecute',
      'unreachable NoExecute',
      'disk-pressure NoSchedule',
      'memory-pressure NoSchedule',
      'pid-pressure NoSchedule',
      'unschedulable NoSchedule',
    ],
  )
  await plane.run(plane.client.delete(nodes, { name: 'c' }))
  await plane.settle()
  assert.equal(await shown(plane), 'a:one* b:one*')
  assert.equal((await statusOf(plane)).desiredNumberScheduled, 2)
  const recorded = (await plane.list(events)).map(({ reason, source }) => `${source?.component} ${reason}`)
  assert.deepEqual(
    new Set(recorded),
    new Set(['daemonset-controller SuccessfulCreate', 'daemonset-controller SuccessfulDelete']),
  )
})

test('NoSchedule taints prevent daemon pods, NoExecute taints delete them', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  const taint = (key: string, effect: string): Node => ({
    ...nodeOf(key),
    spec: { taints: [{ key, effect }] },
  })
  await addNodes(
    plane,
    taint('a', 'NoSchedule'),
    taint('b', 'NoExecute'),
    taint('c', 'PreferNoSchedule'),
    'd',
  )
  await plane.create(
    daemonSets,
    setOf({ template: templateOf('one', { tolerations: [{ key: 'b', operator: 'Exists' }] }) }),
  )
  assert.equal(await shown(plane), 'b:one c:one d:one')
  await plane.change(nodes, 'd', node => ({
    ...node,
    spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] },
  }))
  assert.equal(await shown(plane), 'b:one c:one d:one')
  assert.equal((await statusOf(plane)).numberMisscheduled, 1)
  await plane.change(nodes, 'd', node => ({ ...node, spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } }))
  assert.equal(await shown(plane), 'b:one c:one')
  await plane.change(nodes, 'd', node => ({
    ...node,
    spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
  }))
  assert.equal(await shown(plane), 'b:one c:one d:one')
})

test('failed daemon pods are replaced with backoff', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a')
  await plane.create(daemonSets, setOf())
  const fail = async (): Promise<string> => {
    const [pod] = await plane.list(pods)
    await plane.changeStatus(pods, `default/${pod?.metadata.name}`, each => ({
      ...each,
      status: { phase: 'Failed' },
    }))
    return pod?.metadata.uid ?? ''
  }
  const isReplaced = async (uid: string): Promise<boolean> =>
    (await plane.list(pods))[0]?.metadata.uid !== uid
  for (let times = 0; times < 3; times++) {
    assert.ok(await isReplaced(await fail()))
    await plane.advance(2_000)
  }
  const refused = await fail()
  await plane.advance(500)
  assert.ok(await isReplaced(refused))
  const again = await fail()
  await plane.advance(4_000)
  assert.ok(!(await isReplaced(again)))
  await plane.advance(4_000)
  assert.ok(await isReplaced(again))
  const recorded = (await plane.list(events)).find(({ reason }) => reason === 'FailedDaemonPod')
  assert.match(
    recorded?.message ?? '',
    /^Found failed daemon pod default\/log-\w+ on node a, will try to kill it$/,
  )
})

test('a rolling update deletes at most maxUnavailable daemon pods at a time', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a', 'b', 'c', 'd')
  const rollingUpdate = { maxUnavailable: '50%' }
  await plane.create(daemonSets, setOf({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } }))
  await runPods(plane)
  await changeSpec(plane, { template: templateOf('two') })
  assert.equal(await shown(plane), 'a:two b:two c:one* d:one*')
  await runPods(plane, pod => nodeNameOf(pod) === 'b')
  assert.equal(await shown(plane), 'a:two b:two* c:two d:one*')
  await runPods(plane)
  await runPods(plane)
  assert.equal(await shown(plane), 'a:two* b:two* c:two* d:two*')
})

test('with surge, the old pod is deleted when the new one is available', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a', 'b')
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 }
  await plane.create(
    daemonSets,
    setOf({ minReadySeconds: 10, updateStrategy: { type: 'RollingUpdate', rollingUpdate } }),
  )
  await runPods(plane)
  await plane.advance(10_000)
  await changeSpec(plane, { template: templateOf('two') })
  assert.equal(await shown(plane), 'a:one* a:two b:one*')
  await runPods(plane)
  assert.equal(await shown(plane), 'a:one* a:two* b:one*')
  await plane.advance(10_000)
  assert.equal(await shown(plane), 'a:two* b:one* b:two')
  // The update does not wait for a pod that is not available.
  const old = (await plane.list(pods)).find(pod => pod.spec?.containers[0]?.image === 'one')
  await setReady(plane, keyOf(old!), 'False')
  assert.equal(await shown(plane), 'a:two* b:two')
})

test('with OnDelete, pods are updated when they are deleted', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a', 'b')
  await plane.create(daemonSets, setOf({ updateStrategy: { type: 'OnDelete' } }))
  await runPods(plane)
  await changeSpec(plane, { template: templateOf('two') })
  assert.equal(await shown(plane), 'a:one* b:one*')
  assert.equal((await statusOf(plane)).updatedNumberScheduled, undefined)
  const [pod] = await plane.list(pods)
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: pod!.metadata.name }))
  await plane.settle()
  assert.equal(await shown(plane), nodeNameOf(pod!) === 'a' ? 'a:two b:one*' : 'a:one* b:two')
})

test('revisions beyond revisionHistoryLimit are deleted unless pods have them', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await addNodes(plane, 'a')
  await plane.create(daemonSets, setOf({ revisionHistoryLimit: 0, updateStrategy: { type: 'OnDelete' } }))
  for (const image of ['two', 'three']) await changeSpec(plane, { template: templateOf(image) })
  assert.deepEqual(await revisionNumbers(plane), [1, 3])
  await changeSpec(plane, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } })
  assert.deepEqual(await revisionNumbers(plane), [3])
})

test('a revision name collision is resolved', async t => {
  const plane = await startTestControlPlane(t, [daemonSetController])
  await plane.create(daemonSets, setOf())
  const [revision] = await plane.list(controllerRevisions)
  const { name, namespace } = revision!.metadata
  await plane.run(
    plane.client.delete(daemonSets, { namespace: 'default', name: 'log' }, { propagationPolicy: 'Orphan' }),
  )
  await plane.run(plane.client.delete(controllerRevisions, { name: name, namespace }))
  await plane.change(daemonSets, 'default/log', ({ metadata, ...set }) => {
    const { finalizers: _, ...rest } = metadata
    return { ...set, metadata: rest }
  })
  await plane.create(controllerRevisions, {
    metadata: { name: name, namespace: 'default' },
    data: { is: 'mine' },
    revision: 7,
  })
  await plane.create(daemonSets, setOf())
  assert.deepEqual(await revisionNumbers(plane), [1, 7])
  assert.equal((await statusOf(plane)).collisionCount, 1)
})
