/**
 * The announcers of several nodes with a real API server and the real controllers of addresses and nodes, in virtual
 * time. Links and their addresses are simulated; `tests/node/load-balancer.test.ts` has real ones.
 */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test, { type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { events, nodes, services } from '#/api/generated/core/v1-resources.ts'
import { bitsOf, parseIp } from '#/api/net/ip.ts'
import { formatMicroTime, formatTime } from '#/api/text/time.ts'
import { SeededRandom } from '#/base/seeded-random.ts'
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Informers } from '#/client/informers.ts'
import { TransportError, type Transport } from '#/client/transport.ts'
import { addressPools } from '#/controllers/address-pools.ts'
import { nodeLifecycleController } from '#/controllers/node-lifecycle.ts'
import { serviceLoadBalancerController } from '#/controllers/service-load-balancer.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import type { RunOptions } from '#/platform/linux.ts'
import type { Clock, Process } from '#/platform/platform.ts'
import { LoadBalancerAnnouncer } from './load-balancer-announcer.ts'

/** The link of a node, which `ip -batch` changes. Addresses expire in virtual time. */
class SimulatedLink {
  readonly #clock: Clock
  readonly #own: string
  readonly #addresses = new Map<string, { readonly metric: number; readonly endMs: number }>()
  gratuitousArps = 0
  /** Commands with this address fail. */
  refused = ''

  constructor(clock: Clock, own: string) {
    this.#clock = clock
    this.#own = own
  }

  get addresses(): readonly string[] {
    const nowMs = this.#clock.monotonicMs()
    for (const [address, { endMs }] of this.#addresses) if (endMs <= nowMs) this.#addresses.delete(address)
    return [...this.#addresses.keys()]
  }

  async run(command: readonly string[], { stdin = '' }: RunOptions = {}): Promise<string> {
    if (command.includes('-batch')) {
      const lines = stdin.trim().split('\n')
      const isRefused = (line: string): boolean => this.refused !== '' && line.includes(` ${this.refused}/`)
      for (const line of lines) if (!isRefused(line)) this.#change(line.split(' '))
      const failed = lines.findIndex(isRefused)
      if (failed >= 0) throw new Error(`Command failed -:${failed + 1}`)
    }
    return command.includes('-j') ? this.#show() : ''
  }

  #change([object = '', verb = '', target = '', ...rest]: readonly string[]): void {
    const [address = '', length] = target.split('/')
    if (object === 'neighbour') this.gratuitousArps += rest.includes('use') ? 1 : 0
    else if (length === '31') return
    else if (verb === 'delete') this.#addresses.delete(address)
    else {
      const valueOf = (name: string): string => rest[rest.indexOf(name) + 1] ?? ''
      const seconds = valueOf('valid_lft') === 'forever' ? Infinity : Number(valueOf('valid_lft'))
      const endMs = this.#clock.monotonicMs() + seconds * 1_000
      this.#addresses.set(address, { metric: Number(valueOf('metric')), endMs })
    }
  }

  #show(): string {
    const nowMs = this.#clock.monotonicMs()
    const announced = this.addresses.map(address => {
      const { metric, endMs } = this.#addresses.get(address)!
      const seconds = endMs === Infinity ? 2 ** 32 - 1 : Math.ceil((endMs - nowMs) / 1_000)
      const prefixlen = bitsOf(parseIp(address)!.family)
      return { local: address, prefixlen, metric, valid_life_time: seconds }
    })
    const own = { local: this.#own, prefixlen: 24, valid_life_time: 2 ** 32 - 1 }
    const flags = ['UP', 'LOWER_UP']
    return JSON.stringify([
      { ifname: 'eth0', address: '02:00:00:00:00:01', flags, addr_info: [own, ...announced] },
    ])
  }
}

/** A node with its announcer, and a kubelet that only renews its Lease. */
class TestNode {
  readonly name: string
  readonly link: SimulatedLink
  readonly #plane: TestControlPlane
  readonly #transport: Transport
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  /** When the node was cut off, in monotonic time. */
  cutOffMs: number | undefined

  constructor(plane: TestControlPlane, index: number) {
    this.name = `n${index}`
    this.#plane = plane
    this.link = new SimulatedLink(plane.platform.clock, `198.51.100.${index}`)
    const user = { username: 'system:kube-proxy', groups: ['system:authenticated'] }
    this.#transport = this.#cuttable(inProcessTransport({ handle: plane.handleRequest, user }))
  }

  get isCutOff(): boolean {
    return this.cutOffMs !== undefined
  }

  set isCutOff(isCutOff: boolean) {
    this.cutOffMs = isCutOff ? this.#plane.platform.clock.monotonicMs() : undefined
  }

  async start(address: string): Promise<void> {
    const plane = this.#plane
    const { platform } = plane
    await plane.create(nodes, { metadata: { name: this.name } })
    const nowText = formatTime(platform.clock.now())
    await plane.changeStatus(nodes, this.name, node => ({
      ...node,
      status: {
        addresses: [{ type: 'InternalIP', address }],
        conditions: [
          { type: 'Ready', status: 'True', lastHeartbeatTime: nowText, lastTransitionTime: nowText },
        ],
      },
    }))
    const client = clientOf({ platform, transport: this.#transport, userAgent: 'kube-proxy' })
    const informers = new Informers({ platform, client })
    const announcer = new LoadBalancerAnnouncer({
      platform,
      linux: this.link,
      processes: { start: async (_command, { signal } = {}) => monitorProcess(signal!) },
      client,
      informers,
      nodeName: this.name,
      clusterName: 'k8ts0-proxy',
    })
    const { signal } = this.#stopping
    this.#running = Promise.all([informers.run(signal), announcer.run(signal), this.#renewLease(signal)])
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#plane.run(this.#running)
  }

  async #renewLease(signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#plane
    const at = { namespace: 'kube-node-lease', name: this.name }
    const spec = { holderIdentity: this.name, leaseDurationSeconds: 40 }
    while (!signal.aborted) {
      if (!this.isCutOff) {
        const renewed = { ...spec, renewTime: formatMicroTime(platform.clock.now()) }
        const known = await client.find(leases, at)
        if (known) await client.update(leases, { ...known, spec: renewed })
        else await client.create(leases, { metadata: at, spec: renewed })
        await this.#becomeReady()
      }
      await platform.clock.sleep(10_000, signal).catch(() => undefined)
    }
  }

  /** As the kubelet does after the node controller has declared the node unreachable. */
  async #becomeReady(): Promise<void> {
    const { platform, client } = this.#plane
    const node = await client.find(nodes, { name: this.name })
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')
    if (!node || ready?.status === 'True') return
    const nowText = formatTime(platform.clock.now())
    const conditions = [
      { type: 'Ready', status: 'True', lastHeartbeatTime: nowText, lastTransitionTime: nowText },
    ]
    try {
      await client.updateStatus(nodes, { ...node, status: { ...node.status, conditions } })
    } catch (error) {
      if (!isApiError(error, 'Conflict')) throw error
    }
  }

  /** Requests fail and watches are silent while the node is cut off. */
  #cuttable(inner: Transport): Transport {
    const isCutOff = (): boolean => this.isCutOff
    return {
      async request(request) {
        if (isCutOff()) throw new TransportError('unreachable', 'cut off')
        const response = await inner.request(request)
        return {
          ...response,
          value: () => response.value(),
          bytes: () => response.bytes(),
          discard: () => response.discard(),
          async *events() {
            for await (const batch of response.events()) {
              if (isCutOff()) throw new TransportError('interrupted', 'cut off')
              yield batch
            }
          },
        }
      },
    }
  }
}

function monitorProcess(signal: AbortSignal): Process {
  const stdout = new PassThrough()
  const exited = Promise.withResolvers<{ readonly code: number }>()
  signal.addEventListener(
    'abort',
    () => {
      stdout.end()
      exited.resolve({ code: 0 })
    },
    { once: true },
  )
  const [stdin, stderr] = [new PassThrough(), new PassThrough()]
  return { pid: 1, stdin, stdout, stderr, exited: exited.promise, kill: () => undefined }
}

interface World {
  readonly plane: TestControlPlane
  readonly all: readonly TestNode[]
}

async function start(
  t: TestContext,
  { count, seed = 1 }: { readonly count: number; readonly seed?: number },
): Promise<World> {
  const all: TestNode[] = []
  const ends: (() => Promise<void>)[] = []
  const plane = await startTestControlPlane(
    { after: end => void ends.push(end as () => Promise<void>) },
    [
      nodeLifecycleController(),
      serviceLoadBalancerController({
        createLoadBalancer: addressPools(['192.0.2.0/24', '2001:db8::/120']),
      }),
    ],
    { seed },
  )
  t.after(async () => {
    for (const node of all) await node.stop()
    for (const end of ends) await end()
  })
  for (let index = 1; index <= count; index++) {
    const node = new TestNode(plane, index)
    all.push(node)
    await node.start(`198.51.100.${index}`)
  }
  return { plane, all }
}

async function createServices({ plane }: World, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] }
    await plane.create(services, { metadata: { namespace: 'default', name: `s${index}` }, spec })
  }
}

function ownersOf({ all }: World): ReadonlyMap<string, readonly TestNode[]> {
  const owners = new Map<string, TestNode[]>()
  for (const node of all)
    for (const address of node.link.addresses) owners.set(address, [...(owners.get(address) ?? []), node])
  return owners
}

function checkOneOwner(world: World, count: number): ReadonlyMap<string, TestNode> {
  const owners = ownersOf(world)
  assert.equal(owners.size, count)
  for (const [address, [owner, ...others]] of owners) {
    assert.deepEqual(
      others.map(({ name }) => name),
      [],
      `${address} is on ${owner!.name}, too`,
    )
  }
  return new Map([...owners].map(([address, [owner]]) => [address, owner!]))
}

test('a node that is cut off withdraws its addresses before others take them over, and gets them back', async t => {
  const world = await start(t, { count: 3 })
  const { plane } = world
  await createServices(world, 12)
  await plane.advance(6_000)
  const before = checkOneOwner(world, 12)
  const [lost] = [...before.values()]
  const moved = [...before].filter(([, owner]) => owner === lost).map(([address]) => address)
  assert.ok(moved.length < 12)
  lost!.isCutOff = true
  let withdrawnMs = 0
  let takenMs = 0
  for (let elapsedMs = 0; elapsedMs < 90_000; elapsedMs += 250) {
    await plane.advance(250)
    const owners = ownersOf(world)
    for (const [address, each] of owners) assert.ok(each.length === 1, `${address} has two owners`)
    if (withdrawnMs === 0 && lost!.link.addresses.length === 0) withdrawnMs = elapsedMs
    if (takenMs === 0 && withdrawnMs > 0 && owners.size === 12) takenMs = elapsedMs
  }
  // The kubelet renewed its Lease up to 10 s before; it expires after 50 s, checked every 5 s.
  assert.ok(withdrawnMs > 15_000 && withdrawnMs <= 31_000, `withdrawn after ${withdrawnMs} ms`)
  assert.ok(takenMs > withdrawnMs && takenMs <= 61_000, `taken over after ${takenMs} ms`)
  const during = checkOneOwner(world, 12)
  for (const [address, owner] of before)
    assert.equal(during.get(address) === owner, !moved.includes(address), address)
  for (const owner of during.values()) assert.ok(owner.link.gratuitousArps > 0)

  lost!.isCutOff = false
  await plane.advance(60_000)
  assert.deepEqual(
    [...checkOneOwner(world, 12)].map(([address, { name }]) => `${address} ${name}`).toSorted(),
    [...before].map(([address, { name }]) => `${address} ${name}`).toSorted(),
  )
})

test('a node that is cut off withdraws its addresses although no other node was Ready before', async t => {
  const world = await start(t, { count: 2 })
  const { plane, all } = world
  const [first, second] = all as [TestNode, TestNode]
  await createServices(world, 4)
  second.isCutOff = true
  await plane.advance(90_000)
  assert.ok([...checkOneOwner(world, 4).values()].every(owner => owner === first))
  first.isCutOff = true
  await plane.advance(20_000)
  second.isCutOff = false
  await plane.advance(90_000)
  assert.ok([...checkOneOwner(world, 4).values()].every(owner => owner === second))
})

test('a node that comes back does not announce what it no longer owns', async t => {
  const world = await start(t, { count: 2 })
  const { plane } = world
  await createServices(world, 1)
  await plane.advance(6_000)
  const owner = checkOneOwner(world, 1).get('192.0.2.1')!
  owner.isCutOff = true
  await plane.advance(90_000)
  const labels = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
  await plane.change(nodes, owner.name, node => ({ ...node, metadata: { ...node.metadata, labels } }))
  const { gratuitousArps } = owner.link
  owner.isCutOff = false
  await plane.advance(60_000)
  assert.notEqual(checkOneOwner(world, 1).get('192.0.2.1'), owner)
  assert.equal(owner.link.gratuitousArps, gratuitousArps)
})

test('the last node keeps its addresses while the API server is unreachable, without a lifetime', async t => {
  const world = await start(t, { count: 1 })
  const { plane, all } = world
  const [node] = all as [TestNode]
  await createServices(world, 2)
  await plane.advance(6_000)
  node.isCutOff = true
  await plane.advance(600_000)
  assert.deepEqual(node.link.addresses, ['192.0.2.1', '192.0.2.2'])
  assert.equal(node.link.gratuitousArps, 10)
})

test('an address that the kernel refuses does not prevent the others', async t => {
  const world = await start(t, { count: 1 })
  const { plane, all } = world
  const [{ link }] = all as [TestNode]
  link.refused = '192.0.2.2'
  await createServices(world, 3)
  await plane.advance(60_000)
  assert.deepEqual(link.addresses, ['192.0.2.1', '192.0.2.3'])
  assert.equal(link.gratuitousArps, 10)
  link.refused = ''
  await plane.advance(60_000)
  assert.deepEqual(link.addresses, ['192.0.2.1', '192.0.2.3', '192.0.2.2'])
  assert.equal(link.gratuitousArps, 15)
  const assigned = (await plane.list(events)).filter(({ reason }) => reason === 'nodeAssigned')
  assert.deepEqual(assigned.map(({ involvedObject: { name } }) => name).toSorted(byText), ['s0', 's1', 's2'])
})

test('while the kernel refuses an address, the lifetimes of the others are extended', async t => {
  const world = await start(t, { count: 2 })
  const { plane, all } = world
  for (const { link } of all) link.refused = '192.0.2.2'
  await createServices(world, 4)
  await plane.advance(10_000)
  for (let elapsedMs = 0; elapsedMs < 300_000; elapsedMs += 500) {
    await plane.advance(500)
    checkOneOwner(world, 3)
  }
})

test('addresses follow services, labels and deleted nodes, and events name the owner', async t => {
  const world = await start(t, { count: 2 })
  const { plane } = world
  await createServices(world, 1)
  await plane.advance(6_000)
  const owner = checkOneOwner(world, 1).get('192.0.2.1')!
  const labels = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
  await plane.change(nodes, owner.name, node => ({ ...node, metadata: { ...node.metadata, labels } }))
  const second = checkOneOwner(world, 1).get('192.0.2.1')!
  assert.notEqual(second, owner)
  const assigned = (await plane.list(events)).filter(({ reason }) => reason === 'nodeAssigned')
  assert.deepEqual(
    assigned.map(({ message, involvedObject: { kind, name } }) => `${kind} ${name}: ${message}`),
    [owner, second].map(({ name }) => `Service s0: announcing 192.0.2.1 from node "${name}"`),
  )
  await plane.run(plane.client.delete(nodes, { name: second.name }))
  await plane.settle()
  assert.equal(ownersOf(world).size, 0)
  await plane.change(nodes, owner.name, node => ({ ...node, metadata: { ...node.metadata, labels: {} } }))
  assert.equal(checkOneOwner(world, 1).get('192.0.2.1'), owner)
  await plane.run(plane.client.delete(services, { namespace: 'default', name: 's0' }))
  await plane.settle()
  assert.equal(ownersOf(world).size, 0)
})

for (const seed of [1, 2, 3, 4]) {
  test(`an address has two owners only while one has just been cut off, seed ${seed}`, async t => {
    const world = await start(t, { count: 4, seed })
    const { plane, all } = world
    const random = new SeededRandom(`steps ${seed}`)
    await createServices(world, 8)
    await plane.advance(6_000)
    for (let step = 0; step < 30; step++) {
      const node = all[Math.floor(random.fraction() * all.length)]!
      node.isCutOff = !node.isCutOff
      const pauseMs = Math.floor(random.fraction() * 60_000)
      for (let elapsedMs = 0; elapsedMs < pauseMs; elapsedMs += 500) {
        await plane.advance(500)
        const nowMs = plane.platform.clock.monotonicMs()
        for (const [address, owners] of ownersOf(world)) {
          // A node that comes back takes its addresses over from others, which do not know while they are cut off.
          const lasting = owners.filter(({ cutOffMs = -Infinity }) => nowMs - cutOffMs > 31_000)
          const names = owners.map(({ name }) => name).join()
          const areLost = lasting.some(({ isCutOff }) => isCutOff)
          assert.ok(
            !areLost && lasting.length <= 1 && owners.length <= 2,
            `${address} at ${names} in step ${step}`,
          )
        }
      }
    }
    for (const node of all) node.isCutOff = false
    await plane.advance(120_000)
    checkOneOwner(world, 8)
  })
}

function byText(a = '', b = ''): number {
  return a < b ? -1 : 1
}
