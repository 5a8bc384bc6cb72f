import assert from 'node:assert/strict'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { Informer } from '#/client/informer.ts'
import { planClusterNetwork } from '#/network/cluster-network.ts'
import { claimNetworkSlot } from '#/network/network-slot.ts'
import { ensureCniConfiguration } from '#/network/cni-files.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { PodNetwork, removePodNetwork, type PodNetworkSettings } from '#/network/pod-network.ts'
import { nodeLinux } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { connectPod } from './connect-pod.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { TestNetwork, type TestNamespace } from './test-network.ts'

const skip = (await nodeLinux()).machine.isRoot ? false : 'network namespaces are made by root'

const podCidrs = ['10.244.0.0/16', 'fd00:244::/48']

interface World {
  readonly net: TestNetwork
  readonly api: TestApiServer
  readonly nodes: readonly TestClusterNode[]
  readonly signal: AbortSignal
  readonly running: Promise<void>[]
  readonly stop: () => Promise<void>
}

interface TestClusterNode {
  readonly name: string
  readonly namespace: TestNamespace
  readonly settings: PodNetworkSettings
  readonly podNetwork: PodNetwork
  readonly pod: TestNamespace
  readonly podAddresses: readonly string[]
}

/**
 * Three nodes with strict reverse path filters, each with a bridge with the node's address; the bridges are
 * connected. Each node has a pod.
 */
async function startWorld(t: TestContext, backend: PodNetworkSettings['backend']): Promise<World> {
  const ending = new AbortController()
  const running: Promise<void>[] = []
  const stop = async (): Promise<void> => {
    ending.abort()
    await Promise.all(running)
  }
  // Before the namespaces are removed.
  t.after(stop)
  const net = await TestNetwork.create(t)
  const api = await startTestApiServer(t)
  const world: World & { nodes: TestClusterNode[] } = {
    net,
    api,
    nodes: [],
    signal: ending.signal,
    running,
    stop,
  }
  for (const index of [0, 1, 2]) world.nodes.push(await startNode(t, { world, index, backend }))
  await Promise.all(world.nodes.map(({ podNetwork }) => podNetwork.synced))
  for (const { namespace } of world.nodes)
    await waitUntil(async () => (await routesOf(namespace)).length === 4)
  return world
}

async function startNode(
  t: TestContext,
  {
    world: { net, api, signal, running },
    index,
    backend,
  }: { readonly world: World; readonly index: number; readonly backend: PodNetworkSettings['backend'] },
): Promise<TestClusterNode> {
  const { platform, client } = api
  const name = `node-${index}`
  const namespace = index === 0 ? net.node : await net.addNamespace('node')
  const { linux } = namespace
  const [nodeAddress, ipv6] = [`10.214.0.${index + 1}`, `fd00:214::${index + 1}`]
  for (const each of ['all', 'default'])
    await linux.run(['sh', '-c', `echo 1 > /proc/sys/net/ipv4/conf/${each}/rp_filter`])
  const folder = await temporaryFolder(t)
  const claim = await claimNetworkSlot({ linux, files: platform.files, folder })
  const network = { ...planClusterNetwork(claim.slot, { podCidrs }), nodeAddress }
  const folders = { configuration: join(folder, 'cni.d'), addresses: join(folder, 'addresses') }
  const nodeNetwork = new NodeNetwork({ linux, files: platform.files, network, claim, folders })
  await nodeNetwork.ensure()
  await linux.run(['ip', 'addr', 'add', `${ipv6}/64`, 'dev', network.bridge, 'nodad'])
  if (index > 0) {
    const port = `link add port${index} type veth peer name uplink netns ${namespace.name}`
    const first = net.node.linux
    await first.run(['ip', ...port.split(' ')])
    await first.run(['ip', 'link', 'set', `port${index}`, 'up', 'master', network.bridge])
    await linux.run(['ip', 'link', 'set', 'uplink', 'up', 'master', network.bridge])
  }
  const own = [`10.244.${index + 1}.0/24`, `fd00:244:0:${index + 1}::/64`]
  await client.create(nodes, { metadata: { name }, spec: { podCIDRs: own, podCIDR: own[0] } })
  await setAddresses(api, name, [nodeAddress, ipv6])
  const settings = { backend, device: 'k8ts0-vxlan', vni: 4096, port: 4789, podCidrs }
  const informer = new Informer<Node>({ platform, client, resource: nodes })
  const podNetwork = new PodNetwork({
    platform,
    linux,
    processes: {
      start: (command, options) =>
        platform.processes.start(['ip', 'netns', 'exec', namespace.name, ...command], options),
    },
    nodes: informer,
    nodeName: name,
    settings,
  })
  running.push(informer.run(signal), podNetwork.run(signal))
  await podNetwork.synced
  await ensureCniConfiguration(
    { files: platform.files, name: network.bridge, folders },
    { podCidrs: own, mtu: podNetwork.mtu },
  )
  const pod = await net.addNamespace('pod')
  const podAddresses = await connectPod('ADD', namespace, { pod, folder })
  await serve(pod, `pod-${index}`)
  await serve(namespace, name)
  return { name, namespace, settings, podNetwork, pod, podAddresses }
}

async function setAddresses(
  { client }: TestApiServer,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  const node = await client.get(nodes, { name })
  const internal = addresses.map(address => ({ type: 'InternalIP', address }))
  await client.updateStatus(nodes, { ...node, status: { ...node.status, addresses: internal } })
}

/** A server for each family. */
async function serve({ agent }: TestNamespace, name: string): Promise<void> {
  await agent.serve(name, 'tcp', 7000)
  await agent.serve(name, 'tcp', 7001, '::')
}

function ask(from: TestNamespace, address: string): Promise<string> {
  return from.agent.ask('tcp', address.includes(':') ? `[${address}]:7001` : `${address}:7000`)
}

async function routesOf({ linux }: TestNamespace): Promise<readonly string[]> {
  const families = ['-4', '-6'].map(family => linux.run(['ip', family, 'route', 'show', 'proto', '107']))
  return (await Promise.all(families)).join('').split('\n').slice(0, -1)
}

/** Everything that the pod network writes, except the routes that the kernel adds by itself. */
async function stateOf(namespace: TestNamespace): Promise<string> {
  const { linux } = namespace
  const links = await linux.run(['ip', '-br', 'link'])
  const others = /^(veth|port|uplink)/
  const parts = [
    links
      .split('\n')
      .filter(line => !others.test(line))
      .join('\n')
      .replaceAll(/@\S+/g, ''),
  ]
  parts.push(...(await routesOf(namespace)))
  if (links.includes('k8ts0-vxlan')) {
    const addresses = await linux.run(['ip', '-br', 'addr', 'show', 'dev', 'k8ts0-vxlan', 'scope', 'global'])
    const neighbours = await linux.run(['ip', 'neigh', 'show', 'dev', 'k8ts0-vxlan', 'nud', 'permanent'])
    parts.push(addresses, neighbours, await linux.run(['bridge', 'fdb', 'show', 'dev', 'k8ts0-vxlan']))
  }
  return parts
    .flatMap(part => part.split('\n').map(line => line.trim()))
    .toSorted()
    .join('\n')
}

/** Pods and nodes reach the pods and addresses of other nodes, which see their real addresses. */
async function checkConnections({ nodes: all }: World, hostSources: readonly string[]): Promise<void> {
  for (const [index, from] of all.entries()) {
    const to = all[(index + 1) % all.length]!
    for (const [family, address] of to.podAddresses.entries()) {
      const name = `pod-${all.indexOf(to)}`
      const own = from.podAddresses[family]!
      assert.equal(plain(await ask(from.pod, address)), `${name} ${own}`)
      const source = hostSources[family]!.replace('N', String(index + 1))
      assert.equal(plain(await ask(from.namespace, address)), `${name} ${source}`)
      const node = [`10.214.0.${all.indexOf(to) + 1}`, `fd00:214::${all.indexOf(to) + 1}`][family]!
      assert.equal(plain(await ask(from.pod, node)), `${to.name} ${own}`)
    }
  }
}

/** Servers for IPv6 also see IPv4 clients. */
function plain(answer: string): string {
  return answer.replace('::ffff:', '')
}

/** Executes a command in the node's namespace, and waits until the state is as before. */
async function damage({ namespace }: TestClusterNode, command: string): Promise<void> {
  const whole = await stateOf(namespace)
  await namespace.linux.run(['sh', '-c', command])
  await waitUntil(async () => (await stateOf(namespace)) === whole)
}

const backends = [
  {
    backend: 'vxlan',
    mtu: 1450,
    hostSources: ['10.244.N.0', 'fd00:244:0:N::'],
    damages: [
      'bridge fdb del 06:6b:0a:d6:00:02 dev k8ts0-vxlan dst 10.214.0.2',
      'bridge fdb append 06:6b:0a:d6:00:02 dev k8ts0-vxlan dst 10.214.0.9',
      'ip neigh del 10.244.2.0 dev k8ts0-vxlan',
      'ip addr del 10.244.1.0/32 dev k8ts0-vxlan',
      'ip link set dev k8ts0-vxlan down',
      'ip link set dev k8ts0-vxlan mtu 1300',
      'ip link delete dev k8ts0-vxlan',
    ],
  },
  {
    backend: 'host-gw',
    mtu: 1500,
    hostSources: ['10.214.0.N', 'fd00:214::N'],
    damages: [
      'ip link set dev k8ts0 down && ip link set dev k8ts0 up && ip addr add fd00:214::1/64 dev k8ts0 nodad',
    ],
  },
] as const

for (const { backend, mtu, hostSources, damages } of backends) {
  test(
    `pods of three nodes reach each other with ${backend}, also after outside changes`,
    { skip },
    async t => {
      const world = await startWorld(t, backend)
      const [first, , third] = world.nodes as readonly [TestClusterNode, TestClusterNode, TestClusterNode]
      assert.equal(first.podNetwork.mtu, mtu)
      assert.match(
        await first.pod.linux.run(['ip', 'link', 'show', 'dev', 'eth0']),
        new RegExp(`mtu ${mtu} `),
      )
      await checkConnections(world, hostSources)
      const routeDamages = [
        'ip route del 10.244.2.0/24',
        'ip route replace blackhole 10.244.2.0/24',
        'ip -6 route del fd00:244:0:2::/64',
        'ip route add 10.244.77.0/24 dev k8ts0 proto 107',
      ]
      for (const command of [...routeDamages, ...damages]) await damage(first, command)
      await checkConnections(world, hostSources)

      // A node that gets another address is reached there, and one that is deleted is forgotten.
      const { linux } = third.namespace
      await linux.run(['ip', 'addr', 'add', '10.214.0.33/24', 'dev', 'k8ts0'])
      await setAddresses(world.api, third.name, ['10.214.0.33', 'fd00:214::3'])
      await waitUntil(async () => (await stateOf(first.namespace)).includes('10.214.0.33'))
      await waitUntil(async () => (await ask(first.pod, third.podAddresses[0]!)).startsWith('pod-2 '))
      await world.api.client.delete(nodes, { name: third.name })
      await waitUntil(async () => (await routesOf(first.namespace)).length === 2)
      assert.doesNotMatch(await stateOf(first.namespace), /10\.214\.0\.3|10\.244\.3\.|fd00:244:0:3:/)

      await world.stop()
      for (let times = 0; times < 2; times++) {
        await removePodNetwork(first.namespace.linux, first.settings)
        assert.deepEqual(await routesOf(first.namespace), [])
        assert.doesNotMatch(await first.namespace.linux.run(['ip', 'link']), /vxlan/)
      }
    },
  )
}
