import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { Cluster } from '#/testing/testing.ts'
import { HollowKubelet } from './hollow-kubelet.ts'

const at = { namespace: 'default', name: 'web' }

function podOf(
  more: { readonly spec?: Partial<PodSpec>; readonly finalizers?: readonly string[] } = {},
): Pod {
  const { spec, finalizers = [] } = more
  return {
    metadata: { ...at, finalizers },
    spec: { containers: [{ name: 'web', image: 'web' }], ...spec },
  }
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
}

test('a hollow node registers with its capacity and sends heartbeats', async () => {
  const taints = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }]
  const node = {
    name: 'big',
    labels: { zone: 'a' },
    capacity: { 'cpu': '64', 'example.com/gpu': '2' },
    taints,
  }
  await using cluster = await Cluster.start({ nodes: [node] })
  const big = await cluster.client.get(nodes, { name: 'big' })
  assert.equal(big.metadata.labels?.['zone'], 'a')
  assert.equal(big.metadata.labels?.['kubernetes.io/hostname'], 'big')
  assert.equal(big.status?.allocatable?.['example.com/gpu'], '2')
  assert.equal(big.status?.allocatable?.['cpu'], '64')
  assert.equal(big.status?.allocatable?.['memory'], '32Gi')
  assert.deepEqual(big.spec?.taints, taints)
  const renewed = async (): Promise<number> => {
    const lease = await cluster.client.get(leases, { namespace: 'kube-node-lease', name: 'big' })
    return Date.parse(lease.spec?.renewTime ?? '')
  }
  const before = await renewed()
  await cluster.clock.advance('10s')
  assert.equal((await renewed()) - before, 10_000)
})

test('a hollow node declares its features, and pods that need them are scheduled to it', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [3] } }]
  const container = { name: 'web', image: 'web', restartPolicy: 'Never', restartPolicyRules }
  await cluster.client.create(pods, podOf({ spec: { containers: [container] } }))
  await cluster.settle()
  assert.equal((await cluster.client.get(pods, at)).spec?.nodeName, 'node-1')
  const { status } = await cluster.client.get(nodes, { name: 'node-1' })
  assert.deepEqual(status?.declaredFeatures, [
    'ExtendWebSocketsToKubelet',
    'RestartAllContainersOnContainerExits',
  ])
})

test('an annotation sets the readiness of a hollow pod', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf())
  const readyAfter = async (value: string | null): Promise<boolean> => {
    const patch = { metadata: { annotations: { 'simulated.k8ts.io/ready': value } } }
    await cluster.client.patch(pods, at, { type: 'merge', patch })
    await cluster.settle()
    return isReady(await cluster.client.get(pods, at))
  }
  assert.equal(await readyAfter('false'), false)
  assert.equal(await readyAfter('true'), true)
  assert.equal(await readyAfter('false'), false)
  assert.equal(await readyAfter(null), true)
})

test('a deleted hollow pod is removed at once, or shows its end while it has a finalizer', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const { client } = cluster
  await client.create(pods, podOf())
  await cluster.settle()
  await client.delete(pods, at)
  await cluster.settle()
  assert.equal(await client.find(pods, at), undefined)

  await client.create(pods, podOf({ finalizers: ['example.com/look'] }))
  await cluster.settle()
  await client.delete(pods, at)
  await cluster.settle()
  const ended = await client.get(pods, at)
  assert.equal(ended.status?.phase, 'Failed')
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 143)
  await client.patch(pods, at, { type: 'merge', patch: { metadata: { finalizers: null } } })
  await cluster.settle()
  assert.equal(await client.find(pods, at), undefined)
})

test('a scripted hollow pod crashes and is restarted with backoff', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(
    pods,
    podOf({ spec: { containers: [{ name: 'web', image: 'web', command: ['false'] }] } }),
  )
  await cluster.settle()
  const counts: number[] = []
  for (const time of ['10s', '20s', '40s', '80s']) {
    const { status } = await cluster.client.get(pods, at)
    counts.push(status?.containerStatuses?.[0]?.restartCount ?? -1)
    await cluster.clock.advance(time)
  }
  assert.deepEqual(counts, [1, 2, 3, 4])
})

test('a restarted hollow node continues with its pods', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const { client } = cluster
  await client.create(
    pods,
    podOf({ spec: { containers: [{ name: 'web', image: 'web', command: ['sleep', '60'] }] } }),
  )
  await client.create(pods, { ...podOf(), metadata: { namespace: 'default', name: 'other' } })
  await cluster.settle()
  const before = await client.get(pods, at)
  await cluster.stopNode('node-1')
  await cluster.clock.advance('30s')
  cluster.startNode({ name: 'node-1' })
  await cluster.settle()
  assert.deepEqual((await client.get(pods, at)).status, before.status)
  await client.create(pods, { ...podOf(), metadata: { namespace: 'default', name: 'third' } })
  await cluster.clock.advance('30s')
  const { items } = await client.list(pods)
  const addresses = items.map(pod => pod.status?.podIP)
  assert.equal(new Set(addresses).size, 3, `all have an address of their own: ${addresses.join(' ')}`)
  const { containerStatuses = [] } = items.find(pod => pod.metadata.name === 'web')?.status ?? {}
  assert.equal(containerStatuses[0]?.restartCount, 1, 'it ended while the node was away')
})

test('pods bound while a hollow node was down get unused addresses', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const { client } = cluster
  await client.create(pods, podOf())
  await cluster.settle()
  await cluster.stopNode('node-1')
  // Sorts first by name, so it is synced first.
  const metadata = { namespace: 'default', name: 'a' }
  await client.create(pods, { ...podOf({ spec: { nodeName: 'node-1' } }), metadata })
  cluster.startNode({ name: 'node-1' })
  await cluster.settle()
  const addresses = (await client.list(pods)).items.map(pod => pod.status?.podIP)
  assert.equal(new Set(addresses).size, 2, addresses.join(' '))
})

test('the next heartbeat of a hollow node sets Ready to True again', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const readiness = async (): Promise<string | undefined> => {
    const { status } = await cluster.client.get(nodes, { name: 'node-1' })
    return status?.conditions?.find(({ type }) => type === 'Ready')?.status
  }
  const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]
  const patch = { type: 'strategic', patch: { status: { conditions } } } as const
  await cluster.client.patch(nodes, { name: 'node-1', subresource: 'status' }, patch)
  assert.equal(await readiness(), 'Unknown')
  await cluster.clock.advance('10s')
  assert.equal(await readiness(), 'True')
})

test('hollow pods with the host network have the address of the node', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf({ spec: { hostNetwork: true } }))
  await cluster.settle()
  const { status } = await cluster.client.get(pods, at)
  assert.equal(status?.podIP, status?.hostIP)
})

test('writes of a hollow kubelet carry the pass of the pod', async t => {
  const plane = await startTestControlPlane(t, [])
  const { platform, clientAs, run, passes } = plane
  const client = clientAs('system:node:n1', ['system:nodes'])
  const node = { name: 'n1', address: '192.0.2.1', podCidr: '10.244.0.0/24' }
  const stopping = new AbortController()
  const running = new HollowKubelet({ platform, client, node }).run(stopping.signal)
  await plane.settle()
  const created = await plane.create(pods, podOf({ spec: { nodeName: 'n1' } }))
  const [pass] = passes
  assert.equal(pass?.request, 'PUT /api/v1/namespaces/default/pods/web/status')
  assert.deepEqual([pass.component, pass.node, pass.key], ['kubelet', 'n1', 'default/web'])
  assert.deepEqual(pass.causes, [Number(created.metadata.resourceVersion)])
  await run(plane.client.delete(pods, at))
  await plane.settle()
  const last = passes.at(-1)
  assert.equal(last?.request, 'DELETE /api/v1/namespaces/default/pods/web')
  assert.ok(last.causes.length > 0 && last.causes[0]! > pass.causes[0]!)
  stopping.abort()
  await run(running)
})
