import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import test, { type TestContext } from 'node:test'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { PassLog, type EndedPass } from '#/client/pass-log.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import type { Linux } from '#/platform/linux.ts'
import { proxyServersAt } from './proxy-server.ts'
import { ServiceProxy } from './proxy.ts'

/** A fake machine: records commands, and fails the next `failures` writes. */
class Machine implements Pick<Linux, 'run'> {
  readonly commands: string[] = []
  failures = 0
  isFlushed = false

  async run(command: readonly string[], { stdin = '' }: { readonly stdin?: string } = {}): Promise<string> {
    const isWriting = command.join(' ') === 'nft -f -'
    // Rules of another mode, of which there are none.
    if (command.includes('iptables-save') || command.includes('ip6tables-save')) return 'nat\nfilter\n'
    this.commands.push(isWriting ? stdin : command.join(' '))
    if (isWriting && this.failures-- > 0) throw new Error('Device or resource busy')
    if (this.isFlushed && !stdin.includes('add table') && command[1] !== '-j')
      throw new Error('No such file or directory')
    if (isWriting) this.isFlushed = false
    return command.includes('-j') ? '{"nftables": []}' : ''
  }

  /** Transactions and other commands since the last call. */
  take(): { readonly written: readonly string[]; readonly others: readonly string[] } {
    const all = this.commands.splice(0)
    const isTransaction = (text: string): boolean => text.endsWith('\n')
    return { written: all.filter(isTransaction), others: all.filter(text => !isTransaction(text)) }
  }
}

/** The simulated host of the control plane. */
const host = 'control-plane'

interface World extends TestControlPlane {
  readonly machine: Machine
  readonly lost: () => number
  readonly passLog: PassLog
  /** The answer of a server of the proxy: status and body. */
  readonly get: (port: number, path: string) => Promise<string>
}

async function start(t: TestContext, machine = new Machine()): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  let lost = 0
  const passLog = new PassLog()
  const proxy = new ServiceProxy({
    platform: plane.platform,
    linux: machine,
    client: plane.clientAs('system:kube-proxy', []),
    nodeName: 'n1',
    network: {
      table: 'k8ts0-proxy',
      families: [4],
      podCidrs: ['10.244.0.0/16'],
      serviceCidrs: ['10.96.0.0/16'],
      nodeAddresses: ['10.214.0.1'],
    },
    servers: proxyServersAt(host),
    onRulesLost: () => void lost++,
    passes: passLog,
  })
  const stopping = new AbortController()
  const running = proxy.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  await plane.run(proxy.synced)
  const get = async (port: number, path: string): Promise<string> => {
    const connection = await plane.run(plane.platform.network.connect({ host, port }))
    connection.write(`GET ${path} HTTP/1.1\r\n\r\n`)
    const answer = await plane.run(text(connection))
    return `${answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)} ${answer.split('\r\n\r\n')[1]}`
  }
  return { ...plane, machine, lost: () => lost, passLog, get }
}

async function addService({ client, run }: World, name: string, protocol = 'TCP'): Promise<void> {
  const metadata = { namespace: 'default', name }
  const labels = { 'kubernetes.io/service-name': name }
  await run(client.create(services, { metadata, spec: { ports: [{ name: 'p', port: 80, protocol }] } }))
  const slice = {
    metadata: { ...metadata, labels },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.244.0.1'], nodeName: 'n1', hints: { forZones: [{ name: 'x' }] } },
      { addresses: ['10.244.1.1'], nodeName: 'n2', hints: { forZones: [{ name: 'y' }] } },
    ],
    ports: [{ name: 'p', port: 8080, protocol }],
  }
  await run(client.create(endpointSlices, slice))
}

test('a sync records a pass for each changed service, with the revisions of the changes', async t => {
  const world = await start(t)
  const { run, client, passLog, machine, settle } = world
  const ofA = (): readonly EndedPass[] => passLog.list(0).filter(({ key }) => key === 'default/a')
  machine.failures = 2
  await addService(world, 'a')
  await settle()
  await world.advance(10_000)
  const at = { namespace: 'default', name: 'a' }
  const service = await run(client.get(services, at))
  const slice = await run(client.get(endpointSlices, at))
  const [pass, ...others] = ofA()
  assert.deepEqual(others, [])
  assert.deepEqual([pass?.component, pass?.node, pass?.key], ['kube-proxy', 'n1', 'default/a'])
  const causes = [service, slice].map(({ metadata }) => Number(metadata.resourceVersion))
  assert.deepEqual(pass?.causes, causes)
  assert.deepEqual(
    pass.steps.map(({ name }) => name),
    ['plan', 'write-rules'],
  )
  assert.ok(pass.queuedMs <= pass.startedMs && pass.startedMs <= pass.endedMs)
  // Written again because of the failure, not because of a change.
  await world.advance(200_000)
  assert.equal(ofA().length, 1)
  await run(client.delete(endpointSlices, at))
  await settle()
  const [, deletion] = ofA()
  assert.ok(deletion?.causes.length === 1 && deletion.causes[0]! > causes[1]!)
})

test('a sync with many services records at most 16 passes', async t => {
  const world = await start(t)
  await world.settle()
  const beforeMs = world.platform.clock.now()
  const metadata = { namespace: 'default', generateName: 'many-' }
  const service = { metadata, spec: { ports: [{ name: 'p', port: 80 }] } }
  const created = Array.from({ length: 20 }, () => world.client.create(services, service))
  await world.run(Promise.all(created))
  await world.settle()
  const passes = world.passLog.list(beforeMs)
  assert.equal(passes.length, 16)
  assert.match(passes.at(-1)!.key, /^default\/many-\w+ and 4 more$/)
})

test('changes are debounced into one nftables transaction; conntrack is listed for UDP only', async t => {
  const world = await start(t)
  const first = world.machine.take()
  assert.equal(first.written.length, 1)
  assert.match(first.written[0]!, /^add table ip k8ts0-proxy\ndelete table/)
  for (const name of ['a', 'b', 'c']) await addService(world, name)
  await world.settle()
  const tcp = world.machine.take()
  const written = tcp.written.join('')
  for (const name of ['a', 'b', 'c'])
    assert.match(written, new RegExp(`add chain .*cluster/default/${name}/tcp/p`))
  assert.deepEqual([tcp.written.length, tcp.others], [1, []])
  await addService(world, 'd', 'UDP')
  await world.settle()
  assert.deepEqual(world.machine.take().others, ['conntrack -L -p udp -f ipv4'])
})

test('an idle proxy only verifies that its rules exist', async t => {
  const world = await start(t)
  await world.advance(5_000)
  world.machine.take()
  await world.advance(10 * 60_000)
  const { written, others } = world.machine.take()
  assert.deepEqual([written, [...new Set(others)]], [[], ['nft list chain ip k8ts0-proxy services']])
  assert(others.length <= 10)
  assert.equal(world.lost(), 0)
})

test('rules removed from outside are restored without a service change', async t => {
  const world = await start(t)
  await addService(world, 'a')
  await world.settle()
  world.machine.take()
  world.machine.isFlushed = true
  await world.advance(61_000)
  const { written } = world.machine.take()
  assert.equal(written.length, 1)
  assert.match(written[0]!, /delete table[^]*cluster\/default\/a\/tcp\/p/)
  assert.equal(world.lost(), 1)
})

test('a failed nftables sync is retried with backoff', async t => {
  const world = await start(t)
  world.machine.take()
  world.machine.failures = 6
  await addService(world, 'a')
  await world.advance(60_000)
  const { written } = world.machine.take()
  assert.equal(written.length, 7)
  assert.match(written.at(-1)!, /delete table[^]*cluster\/default\/a\/tcp\/p/)
  await addService(world, 'b')
  await world.settle()
  assert(!world.machine.take().written[0]!.includes('delete table'))
})

test('a node with a zone prefers endpoints with hints for it', async t => {
  const world = await start(t)
  await addService(world, 'a')
  await world.settle()
  assert.match(world.machine.take().written.join(''), /10\.244\.1\.1/)
  const labels = { 'topology.kubernetes.io/zone': 'x' }
  await world.create(nodes, { metadata: { name: 'n1', labels } })
  const { written } = world.machine.take()
  assert.deepEqual(written, [
    'flush chain ip k8ts0-proxy cluster/default/a/tcp/p\n' +
      'add rule ip k8ts0-proxy cluster/default/a/tcp/p meta l4proto tcp dnat to 10.244.0.1:8080\n',
  ])
})

test('syncs and changes are counted, and health fails when rules cannot be written', async t => {
  const world = await start(t)
  await world.create(nodes, { metadata: { name: 'n1' } })
  assert.match(await world.get(10_256, '/healthz'), /^200 .*"nodeEligible":true,"healthy":true/)
  assert.equal(await world.get(10_249, '/proxyMode'), '200 nftables')
  assert.equal(await world.get(10_249, '/healthz'), '200 ok')
  assert.match(await world.get(10_249, '/configz'), /^200 {"kubeproxy.config.k8s.io":/)
  assert.match(await world.get(10_249, '/other'), /^404/)
  await addService(world, 'a')
  await world.settle()
  world.machine.failures = Infinity
  await addService(world, 'b')
  await world.advance(70_000)
  assert.match(await world.get(10_256, '/healthz'), /^503 .*"healthy":false/)
  assert.match(await world.get(10_256, '/livez'), /^503 .*"IPv4":{"lastUpdated":"[^"]+","healthy":false}/)
  const metrics = await world.get(10_249, '/metrics')
  const figure = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(metrics)?.[1])
  const prefix = 'kubeproxy_sync_proxy_rules'
  assert.ok(figure(`${prefix}_nftables_sync_failures_total{ip_family="IPv4"}`) > 1)
  assert.ok(figure(`${prefix}_duration_seconds_count{ip_family="IPv4"}`) > 3)
  assert.equal(
    figure('kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"}') > 0,
    true,
  )
  assert.equal(figure(`${prefix}_service_changes_total`), 3, 'one is the API server')
  assert.equal(figure(`${prefix}_service_changes_pending`), 1)
  assert.equal(figure(`${prefix}_endpoint_changes_total`), 2)
  assert.equal(figure(`${prefix}_no_local_endpoints_total{ip_family="IPv4",traffic_policy="internal"}`), 0)
  assert.equal(figure('kubeproxy_proxy_healthz_total{code="503"}'), 1)
  assert.ok(
    figure(`${prefix}_last_queued_timestamp_seconds{ip_family="IPv4"}`) >
      figure(`${prefix}_last_timestamp_seconds{ip_family="IPv4"}`),
  )
})
