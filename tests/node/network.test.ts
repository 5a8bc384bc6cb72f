import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { planClusterNetwork, type ClusterNetwork } from '#/network/cluster-network.ts'
import { ensureCniConfiguration } from '#/network/cni-files.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { claimNetworkSlot } from '#/network/network-slot.ts'
import { nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { connectPod } from './connect-pod.ts'
import { TestNetwork, type TestNamespace } from './test-network.ts'

const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })

interface TestNodeNetwork {
  readonly network: ClusterNetwork
  readonly nodeNetwork: NodeNetwork
  readonly folder: string
  readonly connectPods: (podCidrs: readonly string[]) => Promise<void>
}

async function nodeNetworkOf(t: TestContext, { linux }: TestNamespace): Promise<TestNodeNetwork> {
  const folder = await temporaryFolder(t)
  const claim = await claimNetworkSlot({ linux, files, folder })
  const network = planClusterNetwork(claim.slot)
  const folders = { configuration: join(folder, 'cni.d'), addresses: join(folder, 'addresses') }
  const connectPods = (podCidrs: readonly string[]): Promise<void> =>
    ensureCniConfiguration({ files, name: network.bridge, folders }, { podCidrs })
  return {
    network,
    folder,
    nodeNetwork: new NodeNetwork({ linux, files, network, claim, folders }),
    connectPods,
  }
}

/** Everything that a node's network could leave behind. */
async function stateOf({ linux }: TestNamespace): Promise<readonly string[]> {
  const rules = await linux.run(['nft', 'list', 'ruleset'])
  const tables = [...rules.matchAll(/^table (.+) {$/gm)].map(([, name]) => `table ${name}`)
  const iptables = [await linux.run(['iptables-save']), await linux.run(['ip6tables-save'])]
  const routes = await linux.run(['ip', '-br', 'route'])
  const links = JSON.parse(await linux.run(['ip', '-j', 'link'])) as readonly { readonly ifname: string }[]
  return [
    // The standard iptables tables and chains remain, empty.
    ...tables.filter(table => !/^table ip6? (nat|filter)$/.test(table)),
    ...iptables.flatMap(text => text.split('\n').filter(line => /^-A|^:CNI/.test(line))),
    ...routes.split('\n'),
    ...links.map(({ ifname }) => ifname),
  ]
}

test('pods reach each other, external hosts and host ports, and removing the network leaves nothing', async t => {
  const net = await TestNetwork.create(t)
  const { node } = net
  const stranger = await net.addStranger()
  await stranger.agent.serve('stranger', 'tcp', 80)
  const before = await stateOf(node)
  const { nodeNetwork, network, folder, connectPods } = await nodeNetworkOf(t, node)
  await nodeNetwork.ensure()
  await connectPods(['10.244.0.0/24'])
  const [a, b] = [await net.addNamespace('a'), await net.addNamespace('b')]
  const addresses = new Map<TestNamespace, string>()
  for (const [index, pod] of [a, b].entries()) {
    const [address = ''] = await connectPod('ADD', node, { pod, folder, hostPort: 31080 + index })
    assert.match(address, /^10\.244\.0\.\d+$/)
    addresses.set(pod, address)
    await pod.agent.serve(pod === a ? 'a' : 'b', 'tcp', 8080)
  }
  // Source addresses are preserved within the cluster and masqueraded outside.
  assert.equal(await a.agent.ask('tcp', `${addresses.get(b)}:8080`), `b ${addresses.get(a)}`)
  assert.equal(await a.agent.ask('tcp', '198.51.100.2:80'), 'stranger 198.51.100.1')
  assert.match(await node.agent.ask('tcp', `${addresses.get(a)}:8080`), /^a /)
  await node.agent.serve('node', 'tcp', 6443, network.nodeAddress)
  assert.equal(await a.agent.ask('tcp', `${network.nodeAddress}:6443`), `node ${addresses.get(a)}`)
  assert.match(await stranger.agent.ask('tcp', '198.51.100.1:31080'), /^a /)
  assert.match(await b.agent.ask('tcp', `${network.nodeAddress}:31080`), /^a /)

  // `ensure` is idempotent, and restores everything after a flush.
  const whole = await stateOf(node)
  await nodeNetwork.ensure()
  assert.deepEqual(await stateOf(node), whole)
  await node.linux.run(['nft', 'delete', 'table', 'ip', network.tables.network])
  await nodeNetwork.ensure()
  assert.equal(await a.agent.ask('tcp', '198.51.100.2:80'), 'stranger 198.51.100.1')

  for (const [index, pod] of [a, b].entries()) {
    await connectPod('DEL', node, { pod, folder, hostPort: 31080 + index })
  }
  for (let times = 0; times < 2; times++) {
    await nodeNetwork.remove()
    assert.deepEqual(await stateOf(node), before)
  }
  await files.remove(join(folder, 'network.json'))
  assert.deepEqual(await readdir(folder), ['cni.d'])
  assert.deepEqual(await readdir(join(folder, 'cni.d')), [])
})

test('pod traffic is accepted despite a FORWARD policy of DROP', async t => {
  const net = await TestNetwork.create(t)
  const { node } = net
  const stranger = await net.addStranger()
  await stranger.agent.serve('stranger', 'tcp', 80)
  for (const rule of ['-P FORWARD DROP', '-N DOCKER-USER', '-A FORWARD -j DOCKER-USER']) {
    await node.linux.run(['iptables', ...rule.split(' ')])
  }
  const before = await node.linux.run(['iptables', '-S'])
  const { nodeNetwork, folder, connectPods } = await nodeNetworkOf(t, node)
  await nodeNetwork.ensure()
  await connectPods(['10.244.0.0/24'])
  const pod = await net.addNamespace('pod')
  await connectPod('ADD', node, { pod, folder, hostPort: 31080 })
  assert.equal(await pod.agent.ask('tcp', '198.51.100.2:80'), 'stranger 198.51.100.1')
  await connectPod('DEL', node, { pod, folder, hostPort: 31080 })
  await nodeNetwork.remove()
  assert.equal(await node.linux.run(['iptables', '-S']), before)
})

test('concurrent clusters allocate distinct network slots and keep them', async t => {
  const { node } = await TestNetwork.create(t)
  const [first, second] = [await nodeNetworkOf(t, node), await nodeNetworkOf(t, node)]
  assert.deepEqual([first.network.slot, second.network.slot], [0, 1])
  await Promise.all([first.nodeNetwork.ensure(), second.nodeNetwork.ensure()])
  const again = await claimNetworkSlot({ linux: node.linux, files, folder: first.folder })
  assert.equal(again.slot, 0)
  // A process that was killed before it wrote its slot finds its bridge again.
  await files.remove(join(second.folder, 'network.json'))
  assert.equal((await claimNetworkSlot({ linux: node.linux, files, folder: second.folder })).slot, 1)
  await node.linux.run(['ip', 'link', 'delete', 'dev', 'k8ts0'])
  const third = await nodeNetworkOf(t, node)
  assert.equal(third.network.slot, 0)
  await assert.rejects(first.nodeNetwork.ensure(), /bridge k8ts0 is in use by another cluster/)
  // Resources of the other cluster are not removed.
  await first.nodeNetwork.remove()
  assert.match(await node.linux.run(['ip', 'link']), /k8ts0/)
  const together = await Promise.all([1, 2, 3].map(() => nodeNetworkOf(t, node)))
  assert.deepEqual(
    together.map(({ network }) => network.slot).toSorted((a, b) => a - b),
    [2, 3, 4],
  )
})
