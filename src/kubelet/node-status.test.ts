import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Node, NodeCondition } from '#/api/generated/core/v1.ts'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { SimulatedRuntime } from '#/cri/simulated.ts'
import type { Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { kubeletConfiguration, type KubeletConfigurationInput } from './kubelet-configuration.ts'
import { NodeRegistration } from './node-status.ts'
import { hostInfo } from './testdata/host-info.ts'

const gibi = 1024 ** 3
const name = 'node-1'

interface TestNode extends TestControlPlane {
  readonly runtime: SimulatedRuntime
  readonly registration: NodeRegistration
  /** Free bytes on the node's disk. */
  readonly disk: { freeBytes: number }
  readonly problems: string[]
  readonly setMemory: (availableBytes: number) => Promise<void>
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
  const setMemory = (bytes: number): Promise<void> => run(writeMeminfo(platform, bytes))
  await setMemory(4 * gibi)
  const client = plane.clientAs(`system:node:${name}`, ['system:nodes'])
  const runtime = new SimulatedRuntime({ platform, podCidrs: ['10.244.1.0/24'] })
  const recorder = new EventRecorder({ client, platform, component: 'kubelet', host: name })
  const disk = { freeBytes: 50 * gibi }
  const problems: string[] = []
  const registration = new NodeRegistration({
    platform,
    client,
    runtime,
    recorder,
    version: 'v1.36.4+k8ts.0.1.0',
    images: { list: () => runtime.listImages() },
    problems: () => problems,
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
          const availableBytes = disk.freeBytes
          return { totalBytes: 100 * gibi, availableBytes, totalInodes: 1_000, freeInodes: 900 }
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
    disk,
    problems,
    setMemory,
    node,
    stop,
    conditions: async () => conditionsOf(await node()),
  }
}

async function writeMeminfo({ files }: Platform, availableBytes: number): Promise<void> {
  await files.makeFolder('/proc')
  const kibibytes = Math.floor(availableBytes / 1024)
  await files.write(
    '/proc/meminfo',
    `MemTotal:  8388608 kB\nMemFree:  ${kibibytes} kB\nInactive(file):  0 kB\n`,
  )
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

test('pressure conditions follow observed signals with a transition period', async t => {
  const subject = await startNode(t)
  await subject.setMemory(99 * 1024 ** 2)
  subject.disk.freeBytes = 14 * gibi
  await subject.advance(11_000)
  assert.equal(
    await subject.conditions(),
    'MemoryPressure=True DiskPressure=True PIDPressure=False Ready=True',
  )
  assert.deepEqual([...subject.registration.pressures].sort(), ['DiskPressure', 'MemoryPressure'])
  await subject.setMemory(4 * gibi)
  subject.disk.freeBytes = 50 * gibi
  await subject.advance(200_000)
  assert.match(await subject.conditions(), /^MemoryPressure=True DiskPressure=True/)
  await subject.advance(120_000)
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
