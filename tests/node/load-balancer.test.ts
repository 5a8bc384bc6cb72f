/**
 * Load balancer addresses on real links: three nodes and a client on one bridge. The client reaches the owner of an
 * address and, when it fails, the next one, with the entries of its neighbour cache refreshed.
 */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allocatedFromPoolAnnotation } from '#/api/core/load-balancers.ts'
import type { ServiceSpec } from '#/api/generated/core/v1.ts'
import { events, nodes, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { Informers } from '#/client/informers.ts'
import { LoadBalancerAnnouncer } from '#/network/load-balancer-announcer.ts'
import { removeAnnouncedAddresses } from '#/network/remove-announced-addresses.ts'
import { nodeLinux } from '#/platform/node.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import { waitUntil } from '../wait-until.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { TestNetwork, type TestNamespace } from './test-network.ts'

const skip = (await nodeLinux()).machine.isRoot ? false : 'network namespaces are made by root'

const clusterName = 'k8ts0-proxy'
const times = { heartbeatMs: 500, cutOffMs: 3_000 }
const addresses = ['198.51.100.200', '2001:db8:51::200'] as const
const ports = { IPv4: 7000, IPv6: 7001 } as const

interface LoadBalancerNode {
  readonly name: string
  readonly addresses: readonly [ipv4: string, ipv6: string]
  readonly namespace: TestNamespace
  /** Lets all requests of the node fail. */
  readonly cutOff: () => void
  /** Ends the announcer as a killed process does: nothing is removed. */
  readonly kill: () => Promise<void>
}

interface World {
  readonly api: TestApiServer
  readonly all: readonly LoadBalancerNode[]
  readonly client: TestNamespace
}

async function startWorld(t: TestContext): Promise<World> {
  const ends: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
  })
  const net = await TestNetwork.create(t)
  const api = await startTestApiServer(t)
  // The node of the test network is the switch.
  const bridge = net.node
  await bridge.linux.run(['ip', 'link', 'add', 'switch', 'type', 'bridge'])
  await bridge.linux.run(['ip', 'link', 'set', 'switch', 'up'])
  const connect = async (what: string, index: number): Promise<TestNamespace> => {
    const namespace = await net.addNamespace(what)
    const { linux } = namespace
    const port = `port${index}`
    await bridge.linux.run([
      ...`ip link add ${port} type veth peer name eth0 netns`.split(' '),
      namespace.name,
    ])
    await bridge.linux.run(['ip', 'link', 'set', port, 'master', 'switch', 'up'])
    const [ipv4, ipv6] = addressesOf(index)
    await linux.run(['ip', 'addr', 'add', `${ipv4}/24`, 'dev', 'eth0'])
    await linux.run(['ip', 'addr', 'add', `${ipv6}/64`, 'dev', 'eth0', 'nodad'])
    await linux.run(['ip', 'link', 'set', 'eth0', 'up'])
    return namespace
  }
  const client = await connect('client', 9)
  const all: LoadBalancerNode[] = []
  for (const index of [1, 2, 3]) {
    const namespace = await connect('node', index)
    const node = await startNode({ api, namespace, index })
    ends.push(node.stop)
    all.push(node)
  }
  return { api, all, client }
}

function addressesOf(index: number): readonly [string, string] {
  return [`198.51.100.${index}`, `2001:db8:51::${index}`]
}

interface StartNode {
  readonly api: TestApiServer
  readonly namespace: TestNamespace
  readonly index: number
}

async function startNode({
  api,
  namespace,
  index,
}: StartNode): Promise<LoadBalancerNode & { readonly stop: () => Promise<void> }> {
  const { platform } = api
  const { linux } = namespace
  const name = `n${index}`
  for (const each of ['net/ipv4/ip_forward', 'net/ipv6/conf/all/forwarding'])
    await linux.run(['sh', '-c', `echo 1 > /proc/sys/${each}`])
  await namespace.agent.serve(name, 'tcp', ports.IPv4)
  await namespace.agent.serve(name, 'tcp', ports.IPv6, '::')
  await api.client.create(nodes, { metadata: { name } })
  await setReady(api, name, 'True', addressesOf(index))
  const cutting = new AbortController()
  const client = cuttable(api.clientAs('system:kube-proxy'), cutting.signal)
  const proxy = new ServiceProxy({
    platform,
    linux,
    client,
    nodeName: name,
    network: {
      table: clusterName,
      families: [4, 6],
      podCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
      serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
      nodeAddresses: addressesOf(index),
    },
    healthAddresses: [],
  })
  const informers = new Informers({ platform, client })
  const announcer = new LoadBalancerAnnouncer({
    platform,
    linux,
    processes: {
      start: (command, options) =>
        platform.processes.start(['ip', 'netns', 'exec', namespace.name, ...command], options),
    },
    client,
    informers,
    nodeName: name,
    clusterName,
    times,
  })
  const stopping = new AbortController()
  const announcing = new AbortController()
  const running = [proxy.run(stopping.signal), informers.run(stopping.signal)]
  const announced = announcer.run(announcing.signal)
  await proxy.synced
  const kill = async (): Promise<void> => {
    announcing.abort()
    await announced
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    await Promise.all([kill(), ...running])
  }
  return { name, addresses: addressesOf(index), namespace, cutOff: () => cutting.abort(), kill, stop }
}

/** A client whose requests fail and whose watches are silent from when it is cut off. */
function cuttable(client: Client, cut: AbortSignal): Client {
  const fail = (): Promise<never> => Promise.reject(new Error('cut off'))
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (!cut.aborted) return value.bind(target) as unknown
      return name.toString().startsWith('watch') ? silence : fail
    },
  })
}

function silence(): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }
}

async function setReady(
  { client }: TestApiServer,
  name: string,
  status: string,
  given?: readonly string[],
): Promise<void> {
  const node = await client.get(nodes, { name })
  const conditions = [
    {
      type: 'Ready',
      status,
      reason: 'Test',
      message: '',
      lastHeartbeatTime: '2026-01-01T00:00:00Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]
  const own = given?.map(address => ({ type: 'InternalIP', address })) ?? node.status?.addresses ?? []
  await client.updateStatus(nodes, { ...node, status: { ...node.status, conditions, addresses: own } })
}

/** A dual-stack service with the load balancer addresses, whose endpoints are the given nodes themselves. */
async function createService(
  { api, all }: World,
  {
    name,
    spec,
    ips,
    on,
  }: { name: string; spec?: ServiceSpec; ips: readonly string[]; on: readonly string[] },
): Promise<void> {
  const { client } = api
  const metadata = { namespace: 'default', name, annotations: { [allocatedFromPoolAnnotation]: 'default' } }
  const created = await client.create(services, {
    metadata,
    spec: { type: 'LoadBalancer', ipFamilyPolicy: 'RequireDualStack', ports: [{ port: 80 }], ...spec },
  })
  for (const [family, addressType] of (['IPv4', 'IPv6'] as const).entries()) {
    const endpoints = all
      .filter(node => on.includes(node.name))
      .map(node => ({
        addresses: [node.addresses[family]!],
        nodeName: node.name,
        conditions: { ready: true },
      }))
    await client.create(endpointSlices, {
      metadata: {
        namespace: 'default',
        name: `${name}-${addressType.toLowerCase()}`,
        labels: { 'kubernetes.io/service-name': name },
      },
      addressType,
      endpoints,
      ports: [{ name: '', port: ports[addressType], protocol: 'TCP' }],
    })
  }
  const ingress = ips.map(ip => ({ ip, ipMode: 'VIP' }))
  await client.updateStatus(services, { ...created, status: { loadBalancer: { ingress } } })
}

async function hasAddress({ namespace }: LoadBalancerNode, address: string): Promise<boolean> {
  const shown = await namespace.linux.run(['ip', '-o', 'address', 'show', 'dev', 'eth0', '-tentative'])
  return shown.includes(` ${address}/`)
}

async function ownersOf({ all }: World, address: string): Promise<readonly LoadBalancerNode[]> {
  const owners = await Promise.all(all.map(async node => ((await hasAddress(node, address)) ? [node] : [])))
  return owners.flat()
}

/** Waits until one node has each address, and returns the owners. */
async function settledOwners(world: World): Promise<readonly LoadBalancerNode[]> {
  let owners: (readonly LoadBalancerNode[])[] = []
  await waitUntil(async () => {
    owners = await Promise.all(addresses.map(address => ownersOf(world, address)))
    return owners.every(({ length }) => length === 1)
  })
  return owners.flat()
}

async function macOf({ namespace }: LoadBalancerNode): Promise<string> {
  const [link] = JSON.parse(await namespace.linux.run(['ip', '-j', 'link', 'show', 'dev', 'eth0'])) as [
    { readonly address: string },
  ]
  return link.address
}

/** MAC address of an entry of the client's neighbour cache. */
async function neighbourOf({ client }: World, address: string): Promise<string | undefined> {
  const output = await client.linux.run(['ip', '-j', 'neighbour', 'show', 'to', address, 'dev', 'eth0'])
  const [entry] = JSON.parse(output || '[]') as readonly { readonly lladdr?: string }[]
  return entry?.lladdr
}

function ask({ client }: World, address: string): Promise<string> {
  return client.agent.ask('tcp', address.includes(':') ? `[${address}]:80` : `${address}:80`)
}

/** Waits until the neighbour cache has the owner, without traffic of the client, and reaches the service. */
async function checkReached(world: World, owners: readonly LoadBalancerNode[]): Promise<void> {
  for (const [index, address] of addresses.entries()) {
    const mac = await macOf(owners[index]!)
    await waitUntil(async () => (await neighbourOf(world, address)) === mac)
    await waitUntil(async () => /^n[123] /.test(await ask(world, address)))
  }
}

test(
  'another machine reaches an address at its owner, and at the next one when the owner fails',
  { skip },
  async t => {
    const world = await startWorld(t)
    const { api, all } = world
    await createService(world, { name: 'web', ips: addresses, on: ['n1', 'n2', 'n3'] })
    const first = await settledOwners(world)
    for (const address of addresses) await waitUntil(async () => /^n[123] /.test(await ask(world, address)))
    await checkReached(world, first)

    await t.test('an event of the service names the owner', async () => {
      const messages = async (): Promise<readonly (string | undefined)[]> => {
        const { items } = await api.client.list(events, { namespace: 'default' })
        return items.filter(({ reason }) => reason === 'nodeAssigned').map(({ message }) => message)
      }
      const expected = addresses.map(
        (address, index) => `announcing ${address} from node "${first[index]!.name}"`,
      )
      await waitUntil(async () => {
        const shown = await messages()
        return expected.every(message => shown.includes(message))
      })
    })

    await t.test('an address that is removed from outside comes back', async () => {
      const [owner] = first as [LoadBalancerNode]
      await owner.namespace.linux.run(['ip', 'address', 'delete', `${addresses[0]}/32`, 'dev', 'eth0'])
      await waitUntil(() => hasAddress(owner, addresses[0]))
    })

    await t.test(
      'an owner that is cut off withdraws its addresses before the next one has them',
      async () => {
        for (const owner of new Set(first)) owner.cutOff()
        for (const address of addresses)
          await waitUntil(async () => (await ownersOf(world, address)).length === 0)
        // The node controller declares them unreachable later.
        for (const owner of new Set(first)) await setReady(api, owner.name, 'Unknown')
        const second = await settledOwners(world)
        assert.ok(second.every(owner => !first.includes(owner)))
        await checkReached(world, second)
      },
    )

    await t.test('nothing is left when the addresses are removed by the name of the cluster', async () => {
      for (const node of all) {
        await node.kill()
        await removeAnnouncedAddresses(node.namespace.linux, clusterName)
        const shown = await node.namespace.linux.run(['ip', 'address', 'show', 'dev', 'eth0'])
        assert.doesNotMatch(shown, /\.200|::200|metric/)
      }
    })
  },
)

test('addresses of a killed process expire, and the node of the next one takes over', { skip }, async t => {
  const world = await startWorld(t)
  await createService(world, { name: 'web', ips: addresses, on: ['n1', 'n2', 'n3'] })
  const first = await settledOwners(world)
  for (const address of addresses) await waitUntil(async () => /^n[123] /.test(await ask(world, address)))
  for (const owner of new Set(first)) await owner.kill()
  for (const address of addresses) await waitUntil(async () => (await ownersOf(world, address)).length === 0)
  for (const owner of new Set(first)) await world.api.client.delete(nodes, { name: owner.name })
  const second = await settledOwners(world)
  assert.ok(second.every(owner => !first.includes(owner)))
  await checkReached(world, second)
})

test('traffic policy and source ranges apply to announced addresses', { skip }, async t => {
  const world = await startWorld(t)
  const { api } = world
  const [address] = addresses
  await createService(world, {
    name: 'local',
    ips: [address],
    on: ['n2'],
    spec: { externalTrafficPolicy: 'Local' },
  })
  const isOwner = async (name: string): Promise<boolean> => {
    const owners = await ownersOf(world, address)
    return owners.length === 1 && owners[0]!.name === name
  }
  await waitUntil(() => isOwner('n2'))
  await waitUntil(async () => (await ask(world, address)) === 'n2 198.51.100.9')

  const at = { namespace: 'default', name: 'local-ipv4' }
  const slice = await api.client.get(endpointSlices, at)
  const endpoints = [{ addresses: ['198.51.100.3'], nodeName: 'n3', conditions: { ready: true } }]
  await api.client.update(endpointSlices, { ...slice, endpoints })
  await waitUntil(() => isOwner('n3'))
  await waitUntil(async () => (await ask(world, address)) === 'n3 198.51.100.9')

  const service = await api.client.get(services, { namespace: 'default', name: 'local' })
  const restricted = { ...service.spec!, loadBalancerSourceRanges: ['198.51.100.77/32'] }
  const changed = await api.client.update(services, { ...service, spec: restricted })
  await waitUntil(async () => (await ask(world, address)) === 'silence')
  const spec = { ...changed.spec!, loadBalancerSourceRanges: ['198.51.100.9/32'] }
  await api.client.update(services, { ...changed, spec })
  await waitUntil(async () => (await ask(world, address)) === 'n3 198.51.100.9')
})
