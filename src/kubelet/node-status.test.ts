import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Node, NodeCondition } from '#/api/generated/core/v1.ts'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { SimulatedRuntime } from '#/cri/simulated.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { PressureType } from './eviction.ts'
import { kubeletConfiguration, type KubeletConfigurationInput } from './kubelet-configuration.ts'
import { NodeRegistration } from './node-status.ts'
import { hostInfo } from './testdata/host-info.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'

const gibi = 1024 ** 3
const name = 'node-1'

interface TestNode extends TestControlPlane {
  readonly runtime: SimulatedRuntime
  readonly registration: NodeRegistration
  readonly problems: string[]
  readonly pressures: Set<PressureType>
  readonly node: () => Promise<Node>
  /** `MemoryPressure=False ... Ready=True`. */
  readonly conditions: () => Promise<string>
  readonly stop: () => Promise<void>
}

async function startNode(t: TestContext, given: Partial<KubeletConfigurationInput> = {}): Promise<TestNode> {
  const admission = await readAdmission(new Simulation({ seed: 1 }).host('x').files, {
    enable: ['NodeRestriction'],
  })
  const plane = await startTestControlPlane(t, [], { admission })
  return { ...plane, ...(await startNodeOn(plane, t, given)) }
}

async function startNodeOn(
  plane: TestControlPlane,
  t: TestContext,
  given: Partial<KubeletConfigurationInput>,
): Promise<Omit<TestNode, keyof TestControlPlane>> {
  const { platform, run, settle, client: admin } = plane
  const client = plane.clientAs(`system:node:${name}`, ['system:nodes'])
  const runtime = new SimulatedRuntime({ platform, podCidrs: ['10.244.1.0/24'] })
  const recorder = new EventRecorder({ client, platform, component: 'kubelet', host: name })
  const pressures = new Set<PressureType>()
  const problems: string[] = []
  const registration = new NodeRegistration({
    metrics: new KubeletMetrics(),
    platform,
    client,
    runtime,
    recorder,
    version: 'v1.36.4+k8ts.0.1.0',
    images: { list: () => runtime.listImages() },
    problems: () => problems,
    pressures: () => pressures,
    node: kubeletConfiguration({
      name,
      addresses: ['192.0.2.7'],
      rootDirectory: '/node',
      cgroupRoot: '/',
      ...given,
    }),
    linux: {
      machine: hostInfo,
      files: {
        async space() {
          return { totalBytes: 100 * gibi, availableBytes: 50 * gibi, totalInodes: 1_000, freeInodes: 900 }
        },
      },
    },
  })
  const stopping = new AbortController()
  const running = Promise.all([registration.run(stopping.signal), recorder.run(stopping.signal)])
  const stop = async (): Promise<void> => {
    stopping.abort()
    await run(running)
  }
  t.after(stop)
  await settle()
  const node = (): Promise<Node> => run(admin.get(nodes, { name }))
  return {
    runtime,
    registration,
    problems,
    pressures,
    node,
    stop,
    conditions: async () => conditionsOf(await node()),
  }
}

function conditionsOf({ status }: Node): string {
  return (status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).join(' ')
}

const well = 'MemoryPressure=False DiskPressure=False PIDPressure=False Ready=True'

test('a node registers with its capacity and renews its lease', async t => {
  const taints = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }]
  const subject = await startNode(t, {
    labels: { disk: 'fast' },
    registerTaints: taints,
    podCidr: '10.244.1.0/24',
  })
  const node = await subject.node()
  assert.equal(conditionsOf(node), well)
  assert.equal(node.metadata.labels?.['disk'], 'fast')
  assert.equal(node.metadata.labels?.['kubernetes.io/hostname'], name)
  assert.deepEqual(
    node.spec?.taints?.filter(({ key }) => key === 'gpu'),
    taints,
  )
  assert.equal(node.spec?.podCIDR, '10.244.1.0/24')
  assert.deepEqual(node.status?.addresses, [
    { type: 'InternalIP', address: '192.0.2.7' },
    { type: 'Hostname', address: name },
  ])
  assert.deepEqual(node.status?.capacity, {
    'cpu': '4',
    'ephemeral-storage': '100Gi',
    'memory': '8Gi',
    'pods': '110',
  })
  assert.equal(node.status?.allocatable?.['memory'], '8092Mi')
  assert.equal(node.status?.nodeInfo?.kubeletVersion, 'v1.36.4+k8ts.0.1.0')
  const lease = async (): Promise<number> => {
    const found = await subject.run(subject.client.get(leases, { namespace: 'kube-node-lease', name }))
    assert.equal(found.spec?.holderIdentity, name)
    assert.equal(found.spec?.leaseDurationSeconds, 40)
    return Date.parse(found.spec?.renewTime ?? '')
  }
  const before = await lease()
  await subject.advance(60_000)
  assert.equal((await lease()) - before, 60_000)
  const owned = await subject.run(subject.client.get(leases, { namespace: 'kube-node-lease', name }))
  assert.equal(owned.metadata.ownerReferences?.[0]?.uid, node.metadata.uid)
})

test('an unchanged node status is written every five minutes only', async t => {
  const subject = await startNode(t)
  const first = await subject.node()
  await subject.advance(280_000)
  assert.equal((await subject.node()).metadata.resourceVersion, first.metadata.resourceVersion)
  await subject.advance(40_000)
  const reported = await subject.node()
  const heartbeat = ({ status }: Node): number =>
    Date.parse(status?.conditions?.at(-1)?.lastHeartbeatTime ?? '')
  assert.ok(heartbeat(reported) - heartbeat(first) >= 280_000)
  const since = ({ status }: Node): unknown =>
    status?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)
  assert.deepEqual(since(reported), since(first))
})

test('pressure conditions are written with events', async t => {
  const subject = await startNode(t)
  const { pressures, registration } = subject
  for (const type of ['MemoryPressure', 'DiskPressure'] as const) pressures.add(type)
  registration.check()
  await subject.settle()
  assert.equal(
    await subject.conditions(),
    'MemoryPressure=True DiskPressure=True PIDPressure=False Ready=True',
  )
  pressures.clear()
  await subject.advance(10_000)
  assert.equal(await subject.conditions(), well)
  const { items } = await subject.run(subject.client.list(events, { namespace: 'default' }))
  const told = items.filter(({ involvedObject }) => involvedObject?.uid === name).map(({ reason }) => reason)
  for (const reason of ['NodeHasInsufficientMemory', 'NodeHasDiskPressure', 'NodeHasSufficientMemory']) {
    assert.ok(told.includes(reason), `${reason} of ${told.join(' ')}`)
  }
})

test('a node is not ready while its runtime is unavailable', async t => {
  const subject = await startNode(t)
  const ready = async (): Promise<NodeCondition | undefined> =>
    (await subject.node()).status?.conditions?.at(-1)
  subject.runtime.faults.disconnect()
  await subject.advance(20_000)
  assert.equal((await ready())?.status, 'True', 'a short absence is not told')
  await subject.advance(25_000)
  const down = await ready()
  assert.deepEqual(
    [down?.status, down?.reason, down?.message],
    ['False', 'KubeletNotReady', 'container runtime is down'],
  )
  subject.runtime.faults.reconnect()
  await subject.advance(2_000)
  assert.equal(await subject.conditions(), well)
  subject.problems.push('node is shutting down')
  subject.registration.check()
  await subject.settle()
  assert.equal((await ready())?.message, 'node is shutting down')
})

test('a node that was marked unknown or deleted reports its status again', async t => {
  const subject = await startNode(t, { labels: { disk: 'fast' } })
  await subject.changeStatus(nodes, name, node => ({
    ...node,
    status: {
      ...node.status,
      conditions: [
        ...(node.status?.conditions ?? []).map(each => ({ ...each, status: 'Unknown' })),
        { type: 'NetworkUnavailable', status: 'False' },
      ],
    },
  }))
  await subject.advance(10_000)
  assert.match(await subject.conditions(), /Ready=True/)
  assert.match(await subject.conditions(), /NetworkUnavailable=False/, 'what others say stays')

  const before = await subject.node()
  await subject.run(subject.client.delete(nodes, { name }))
  await subject.advance(11_000)
  const again = await subject.node()
  assert.notEqual(again.metadata.uid, before.metadata.uid)
  assert.equal(conditionsOf(again), well)
  assert.equal(again.metadata.labels?.['disk'], 'fast')
  await subject.advance(10_000)
  const lease = await subject.run(subject.client.get(leases, { namespace: 'kube-node-lease', name }))
  assert.equal(lease.metadata.ownerReferences?.[0]?.uid, again.metadata.uid)
})

test('a restarted kubelet keeps its node and reconciles its labels', async t => {
  const subject = await startNode(t)
  const before = await subject.node()
  await subject.stop()
  await subject.change(nodes, name, node => ({
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata.labels, 'kubernetes.io/os': 'plan9', 'mine': 'x' },
    },
    spec: { ...node.spec, unschedulable: true },
  }))
  const again = await startNodeOn(subject, t, {})
  const after = await again.node()
  assert.equal(after.metadata.uid, before.metadata.uid)
  assert.equal(after.metadata.labels?.['kubernetes.io/os'], 'linux')
  assert.equal(after.metadata.labels?.['mine'], 'x')
  assert.equal(after.spec?.unschedulable, true)
  assert.equal(conditionsOf(after), well)
})

test('node addresses of one type and their changes are written', async t => {
  const subject = await startNode(t, { addresses: ['192.0.2.7', 'fd00::7'] })
  const addresses = async (): Promise<string> => {
    const { status } = await subject.node()
    return (status?.addresses ?? []).map(({ address }) => address).join(' ')
  }
  assert.equal(await addresses(), `192.0.2.7 fd00::7 ${name}`)
  await subject.stop()
  await startNodeOn(subject, t, { addresses: ['192.0.2.8', 'fd00::8'] })
  assert.equal(await addresses(), `192.0.2.8 fd00::8 ${name}`)
})
