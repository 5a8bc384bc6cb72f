import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test, { type TestContext } from 'node:test'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { Informer } from '#/client/informer.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Process, Processes, ProcessExit, ProcessOptions } from '#/platform/platform.ts'
import { PodNetwork } from './pod-network.ts'

/** A machine that stores nothing: every sync finds an empty network. Records what is written. */
class Machine implements Pick<Linux, 'run'>, Processes {
  readonly monitor = new PassThrough()
  readonly written: string[] = []
  reads = 0
  failures = 0

  async run(command: readonly string[], { stdin }: { readonly stdin?: string } = {}): Promise<string> {
    if (stdin !== undefined && this.failures-- > 0) throw new Error('Operation not permitted')
    if (stdin !== undefined) this.written.push(stdin)
    if (command.join(' ') !== 'ip -j -d address show') return ''
    this.reads++
    const address = { local: '10.214.0.1', prefixlen: 24, scope: 'global' }
    return JSON.stringify([{ ifname: 'eth0', mtu: 1500, flags: ['UP'], addr_info: [address] }])
  }

  async start(_command: readonly string[], { signal }: ProcessOptions = {}): Promise<Process> {
    const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>()
    signal?.addEventListener('abort', () => {
      this.monitor.end()
      resolve({ signal: 'SIGKILL' })
    })
    const [stdin, stderr] = [new PassThrough(), new PassThrough()]
    return { stdin, stdout: this.monitor, stderr, pid: 1, exited, kill: () => undefined }
  }
}

interface World extends TestControlPlane {
  readonly machine: Machine
  readonly podNetwork: PodNetwork
}

async function start(t: TestContext, peers: readonly string[], machine = new Machine()): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const { platform, client } = plane
  const informer = new Informer<Node>({ platform, client, resource: nodes })
  const podNetwork = new PodNetwork({
    platform,
    linux: machine,
    processes: machine,
    nodes: informer,
    nodeName: 'n1',
    settings: { backend: 'host-gw', device: 'vx0', vni: 4096, port: 4789, podCidrs: ['10.244.0.0/16'] },
  })
  const stopping = new AbortController()
  const running = Promise.all([informer.run(stopping.signal), podNetwork.run(stopping.signal)])
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  const world = { ...plane, machine, podNetwork }
  for (const name of ['n1', ...peers]) await addNode(world, name)
  await plane.settle()
  return world
}

/** Node `n3` has the address 10.214.0.3 and the pod CIDR 10.244.3.0/24. */
async function addNode({ create, changeStatus }: TestControlPlane, name: string): Promise<void> {
  const number = name.slice(1)
  const podCidr = `10.244.${number}.0/24`
  await create(nodes, { metadata: { name }, spec: { podCIDR: podCidr, podCIDRs: [podCidr] } })
  await changeStatus(nodes, name, node => ({
    ...node,
    status: { ...node.status, addresses: [{ type: 'InternalIP', address: `10.214.0.${number}` }] },
  }))
}

test('a heartbeat of a node causes no command, and a new address does', async t => {
  const world = await start(t, ['n2'])
  const { machine, podNetwork, changeStatus, settle } = world
  assert.equal(podNetwork.mtu, 1500)
  assert.deepEqual(machine.written.splice(0).at(-1)?.split('\n'), [
    'route replace 10.244.2.0/24 via 10.214.0.2 dev eth0 proto 107 src 10.214.0.1',
    '',
  ])
  const { reads } = machine
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2027-01-01T00:00:00Z' }]
  await changeStatus(nodes, 'n2', node => ({ ...node, status: { ...node.status, conditions } }))
  await settle()
  assert.deepEqual([machine.reads, machine.written], [reads, []])
  await changeStatus(nodes, 'n2', node => ({
    ...node,
    status: { ...node.status, addresses: [{ type: 'InternalIP', address: '10.214.0.22' }] },
  }))
  await settle()
  assert.match(machine.written.join(''), /10\.244\.2\.0\/24 via 10\.214\.0\.22 dev eth0/)
})

test('a relevant event of the kernel causes a sync, others do not', async t => {
  const { machine, settle } = await start(t, ['n2'])
  const { reads } = machine
  machine.monitor.write('[ROUTE]10.244.1.7 dev veth1b2c scope host \n[NEIGH]10.214.0.2 dev eth0 REACH')
  await settle()
  assert.equal(machine.reads, reads)
  machine.monitor.write(
    'ABLE \n[ROUTE]Deleted 10.244.2.0/24 via 10.214.0.2 dev eth0 proto 107 src 10.214.0.1 \n',
  )
  await settle()
  assert.equal(machine.reads, reads + 1)
})

test('a refused change is retried with growing pauses', async t => {
  const machine = new Machine()
  machine.failures = Infinity
  const { advance, podNetwork } = await start(t, ['n2'], machine)
  const { reads } = machine
  await advance(60 * 60_000)
  // At most every 30 s, beginning with 200 ms.
  assert(machine.reads - reads > 60 && machine.reads - reads <= 130, String(machine.reads - reads))
  machine.failures = 0
  await advance(60_000)
  assert.equal(podNetwork.mtu, 1500)
})
