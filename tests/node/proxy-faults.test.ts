import assert from 'node:assert/strict'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { planClusterNetwork } from '#/network/cluster-network.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import type { Linux } from '#/platform/linux.ts'
import { removeServiceRules } from '#/proxy/proxy-modes.ts'
import { proxyModes } from '#/proxy/proxier.ts'
import { at, eventually, network, pods, ServiceWorld } from './service-world.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'

/** A machine whose `nft` can be broken: it then crashes, except for the commands that read no sets. */
class BreakableNft implements Pick<Linux, 'run'> {
  readonly #linux: Pick<Linux, 'run'>
  readonly #folder: string

  private constructor(linux: Pick<Linux, 'run'>, folder: string) {
    this.#linux = linux
    this.#folder = folder
  }

  static async create(t: TestContext, linux: Pick<Linux, 'run'>): Promise<BreakableNft> {
    const folder = await temporaryFolder(t)
    const isWorking = `[ ! -e ${folder}/broken ] || [ "$1" = flush ]`
    const script = `#!/bin/sh\nif ${isWorking}; then exec /usr/sbin/nft "$@"; fi\nkill -SEGV $$\n`
    await mkdir(join(folder, 'bin'))
    await writeFile(join(folder, 'bin/nft'), script)
    await chmod(join(folder, 'bin/nft'), 0o755)
    return new BreakableNft(linux, folder)
  }

  async break(): Promise<void> {
    await writeFile(join(this.#folder, 'broken'), '')
  }

  async repair(): Promise<void> {
    await rm(join(this.#folder, 'broken'))
  }

  run(command: readonly string[], options?: Parameters<Linux['run']>[1]): Promise<string> {
    const path = `PATH=${this.#folder}/bin:/usr/bin:/bin:/usr/sbin:/sbin`
    return this.#linux.run(['env', path, ...command], options)
  }
}

/** Lines of all rules of the namespace but for the empty tables that iptables creates. */
async function rulesOf({ net }: ServiceWorld): Promise<readonly string[]> {
  const { linux } = net.node
  const saved = ['iptables-save', 'ip6tables-save'].map(save => linux.run([save]))
  const tables = (await linux.run(['nft', 'list', 'tables']))
    .split('\n')
    .filter(line => line.includes('k8ts'))
  const rules = (await Promise.all(saved)).join('').split('\n')
  return [...tables, ...rules.filter(line => /^-A|KUBE|K8TS/.test(line))]
}

async function reasonsOf({ api }: ServiceWorld): Promise<readonly string[]> {
  const { items } = await api.client.list(events)
  return items.filter(({ involvedObject }) => involvedObject.name === 'n1').map(({ reason = '' }) => reason)
}

test('where nft crashes services are handled with iptables, with one Event', async t => {
  const world = await ServiceWorld.start(t, 'nftables')
  const { a, net, api } = world
  await api.client.create(nodes, { metadata: { name: 'n1' } })
  const linux = await BreakableNft.create(t, net.node.linux)
  await linux.break()
  await world.service('one', { clusterIP: '10.96.0.20' }, [at(pods.b)])
  const { proxy, stop } = await world.startProxy({ linux })
  assert.deepEqual(proxy.status, { mode: 'iptables', fallback: 'nft was killed by signal SIGSEGV' })
  await eventually(() => a.agent.ask('tcp', '10.96.0.20:80'), /^b 10\.244\.0\.11$/)
  await world.endpoints('one', [at(pods.a)])
  await eventually(() => a.agent.ask('tcp', '10.96.0.20:80'), /^a /)
  await waitUntil(async () => (await reasonsOf(world)).includes('ProxyModeFallback'))
  assert.deepEqual(await reasonsOf(world), ['ProxyModeFallback'])
  await stop()
  await removeServiceRules(linux, network.table)
  assert.deepEqual(await rulesOf(world), [])
})

test('when nft begins to crash the rules of its table lose their effect, and a restart returns to it', async t => {
  const world = await ServiceWorld.start(t, 'nftables')
  const { a, net } = world
  const linux = await BreakableNft.create(t, net.node.linux)
  await world.service('one', { clusterIP: '10.96.0.20' }, [at(pods.b)])
  const { proxy, stop } = await world.startProxy({ linux })
  await eventually(() => a.agent.ask('tcp', '10.96.0.20:80'), /^b /)
  assert.deepEqual(proxy.status, { mode: 'nftables' })
  await linux.break()
  await world.endpoints('one', [at(pods.a)])
  await eventually(() => a.agent.ask('tcp', '10.96.0.20:80'), /^a /)
  assert.equal(proxy.status.mode, 'iptables')
  await stop()
  await linux.repair()
  const again = await world.startProxy({ linux })
  assert.deepEqual(again.proxy.status, { mode: 'nftables' })
  assert.match(await a.agent.ask('tcp', '10.96.0.20:80'), /^a /)
  await again.stop()
  assert.deepEqual(
    (await rulesOf(world)).filter(line => line.includes('KUBE')),
    [],
  )
})

test('pods are masqueraded with iptables where nft crashes, and nothing is left after the removal', async t => {
  const world = await ServiceWorld.start(t, 'nftables')
  const { a, net, stranger } = world
  const linux = await BreakableNft.create(t, net.node.linux)
  await linux.break()
  await stranger.agent.serve('stranger', 'tcp', 9_000)
  assert.equal(await a.agent.ask('tcp', '198.51.100.2:9000'), `stranger ${pods.a}`)
  const nodeNetwork = new NodeNetwork({
    linux,
    files: world.api.platform.files,
    network: planClusterNetwork(0, { podCidrs: network.podCidrs }),
    folders: { configuration: await temporaryFolder(t), addresses: await temporaryFolder(t) },
  })
  for (let times = 0; times < 2; times++) await nodeNetwork.ensure()
  assert.equal(await a.agent.ask('tcp', '198.51.100.2:9000'), 'stranger 198.51.100.1')
  assert.equal((await rulesOf(world)).filter(line => line.startsWith('-A POSTROUTING')).length, 2)
  await nodeNetwork.remove()
  assert.deepEqual(await rulesOf(world), [])
  assert.equal(await a.agent.ask('tcp', '198.51.100.2:9000'), `stranger ${pods.a}`)
})

test('a failure to write rules is an Event and in the status, and so is its end', async t => {
  const world = await ServiceWorld.start(t, 'iptables')
  const { net } = world
  let fails = false
  const linux: Pick<Linux, 'run'> = {
    run: async (command, options) => {
      if (fails && command[0] === 'iptables-restore')
        return net.node.linux.run(['sh', '-c', 'echo no >&2; exit 3'])
      return net.node.linux.run(command, options)
    },
  }
  const { proxy, stop } = await world.startProxy({ linux })
  fails = true
  await world.service('one', { clusterIP: '10.96.0.20' }, [at(pods.b)])
  await waitUntil(async () => (await reasonsOf(world)).includes('FailedToSyncServices'))
  assert.match(proxy.status.failure ?? '', /: no$/)
  fails = false
  await waitUntil(async () => (await reasonsOf(world)).includes('ServicesSynced'))
  assert.deepEqual(proxy.status, { mode: 'iptables' })
  await eventually(() => world.a.agent.ask('tcp', '10.96.0.20:80'), /^b /)
  await stop()
})

test('a proxy replaces the rules of another mode, and the removal leaves nothing', async t => {
  const world = await ServiceWorld.start(t, 'nftables')
  const { a, net } = world
  const before = await rulesOf(world)
  const ports = [{ name: 'tcp', port: 80, nodePort: 30_020 }]
  await world.service('one', { type: 'NodePort', clusterIP: '10.96.0.20', ports }, [at(pods.b)])
  for (const mode of [...proxyModes, 'nftables', 'iptables'] as const) {
    const { stop } = await world.startProxy({ mode })
    assert.match(await a.agent.ask('tcp', '10.96.0.20:80'), /^b /, mode)
    await stop()
    // The test's proxier of the mode userspace does not know of other modes.
    const others = (await rulesOf(world)).filter(line =>
      line.includes(mode === 'nftables' ? 'KUBE' : 'table ip'),
    )
    if (mode !== 'userspace') assert.deepEqual(others, [], mode)
    const answer = await a.agent.ask('tcp', '10.96.0.20:80', { timeoutMs: 300 })
    assert.equal(
      answer.startsWith('b '),
      mode !== 'userspace',
      'rules stay, but for those of the mode userspace',
    )
  }
  for (let times = 0; times < 2; times++) await removeServiceRules(net.node.linux, network.table)
  assert.deepEqual(await rulesOf(world), before)
})
