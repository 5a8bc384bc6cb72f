import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import {
  events,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
  services,
} from '#/api/generated/core/v1-resources.ts'
import { networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import type { Resource } from '#/api/resource.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { applyDnsSlice, dnsService, dnsSliceOf, ensureDnsService } from '#/dns/ensure-dns.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import type { Linux } from '#/platform/linux.ts'
import { NetworkPolicyAgent } from './network-policy.ts'
import { NetworkPolicyMetrics } from './network-policy-metrics.ts'

/** A fake machine: records transactions, and fails the next `failures` ones. */
class Machine implements Pick<Linux, 'run'> {
  readonly written: string[] = []
  readonly others: string[] = []
  failures = 0
  isFlushed = false

  async run(command: readonly string[], { stdin = '' }: { readonly stdin?: string } = {}): Promise<string> {
    if (command.join(' ') !== 'nft -f -') {
      this.others.push(command.join(' '))
      if (this.isFlushed) throw new Error('No such file or directory')
      return ''
    }
    this.written.push(stdin)
    if (this.failures-- > 0) throw new Error('Device or resource busy')
    this.isFlushed = false
    return ''
  }

  take(): string {
    return this.written.splice(0).join('')
  }
}

interface World extends TestControlPlane {
  readonly machine: Machine
  readonly agent: NetworkPolicyAgent
  readonly metrics: MetricsRegistry
  /** Plurals of the resources that the agent has watched. */
  readonly watched: ReadonlySet<string>
  /** Plurals of the resources that the agent cannot read. */
  readonly forbidden: Set<string>
}

const removal =
  'add table ip k8ts0-policy\ndelete table ip k8ts0-policy\nadd table ip6 k8ts0-policy\ndelete table ip6 k8ts0-policy\n'

async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  await plane.run(ensureRoleBindings(plane.client, plane.platform.log))
  await plane.create(nodes, { metadata: { name: 'n1' }, spec: { podCIDRs: ['10.244.0.0/24'] } })
  const machine = new Machine()
  const watched = new Set<string>()
  const forbidden = new Set<string>()
  const metrics = new MetricsRegistry()
  const agent = new NetworkPolicyAgent({
    platform: plane.platform,
    linux: machine,
    client: observed(plane.clientAs('system:kube-proxy', []), { watched, forbidden }),
    nodeName: 'n1',
    table: 'k8ts0-policy',
    families: [4],
    metrics: new NetworkPolicyMetrics(metrics),
  })
  const stopping = new AbortController()
  const running = agent.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  await plane.run(agent.synced)
  return { ...plane, machine, agent, metrics, watched, forbidden }
}

function observed(
  client: Client,
  { watched, forbidden }: { readonly watched: Set<string>; readonly forbidden: ReadonlySet<string> },
): Client {
  return new Proxy(client, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parameters: readonly unknown[]): unknown => {
        const { plural } = (parameters[0] ?? {}) as Partial<Resource>
        if (name === 'watchBatches' && forbidden.has(plural ?? '')) throw new Error('forbidden')
        if (name === 'watchBatches') watched.add(plural ?? '')
        return Reflect.apply(value, target, parameters)
      }
    },
  })
}

async function addPod(
  world: World,
  name: string,
  status: Pod['status'] = { podIPs: [{ ip: '10.244.0.5' }] },
): Promise<Pod> {
  const { client, run } = world
  const at = { namespace: 'default', name: 'default' }
  if (!(await run(client.find(serviceAccounts, at))))
    await run(client.create(serviceAccounts, { metadata: at }))
  const pod = await run(
    client.create(pods, {
      metadata: { namespace: 'default', name, labels: { app: name } },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    }),
  )
  const podIP = status.podIPs?.[0]?.ip ?? ''
  const full = { phase: 'Running', ...status, ...(podIP && { podIP }) }
  if (status.podIPs) await run(client.updateStatus(pods, { ...pod, status: full }))
  return pod
}

async function addPolicy({ client, run }: World, name: string): Promise<void> {
  const metadata = { namespace: 'default', name }
  await run(client.create(networkPolicies, { metadata, spec: { podSelector: {} } }))
}

test('without a policy only policies are watched, and tables of an earlier process are removed', async t => {
  const world = await start(t)
  assert.equal(world.machine.take(), removal)
  await addPod(world, 'web')
  await world.advance(10 * 60_000)
  assert.deepEqual([world.machine.take(), world.machine.others], ['', []])
  assert.deepEqual([...world.watched], ['networkpolicies'])
  const { signal } = new AbortController()
  await world.run(
    world.agent.protectPod({ metadata: { namespace: 'default', name: 'a' } }, ['10.244.0.9'], signal),
  )
  assert.equal(world.machine.take(), '')
})

test('policies are in force while there are any, with pods and namespaces watched', async t => {
  const world = await start(t)
  await addPod(world, 'web')
  world.machine.take()
  await addPolicy(world, 'deny')
  await world.settle()
  const written = world.machine.take()
  assert.match(written, /add element ip k8ts0-policy ingress-pods { 10\.244\.0\.5 : goto ingress-set\/1 }/)
  assert.match(written, /add element ip k8ts0-policy node-pod-cidrs { 10\.244\.0\.0\/24 }/)
  assert.deepEqual([...world.watched].toSorted(), [
    'endpointslices',
    'namespaces',
    'networkpolicies',
    'nodes',
    'pods',
  ])
  const text = world.metrics.expose('').text
  for (const line of ['network_policy_policies 1', 'network_policy_active_policies 1'])
    assert.match(text, new RegExp(`^${line}$`, 'm'))
  assert.match(text, /^network_policy_sync_duration_seconds_count [2-9]/m)
  await world.run(world.client.delete(networkPolicies, { namespace: 'default', name: 'deny' }))
  await world.settle()
  assert.ok(world.machine.take().endsWith(removal))
  await addPod(world, 'other', { podIPs: [{ ip: '10.244.0.6' }] })
  await world.advance(200_000)
  assert.equal(world.machine.take(), '')
  await addPolicy(world, 'deny')
  await world.settle()
  assert.match(world.machine.take(), /10\.244\.0\.6 : goto ingress-set\/1/)
})

test('the DNS servers of the cluster are selected as its DNS pods are', async t => {
  const world = await start(t)
  const { client, run } = world
  await run(ensureDnsService(client, '10.96.0.10'))
  const service = await run(client.get(services, dnsService))
  const at = { name: 'kube-dns', address: '10.214.0.1', port: 53, nodeName: 'n1' }
  await run(applyDnsSlice(client, dnsSliceOf(service, at)))
  await addPod(world, 'web')
  const kubeSystem = { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } }
  const to = [{ namespaceSelector: kubeSystem, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }]
  await run(
    client.create(networkPolicies, {
      metadata: { namespace: 'default', name: 'dns' },
      spec: {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [{ to, ports: [{ port: 'dns', protocol: 'UDP' }] }],
      },
    }),
  )
  await world.settle()
  const written = world.machine.take()
  assert.match(written, /add element ip k8ts0-policy peers\/1 { 10\.214\.0\.1 }/)
  assert.match(written, /add element ip k8ts0-policy ports\/1\/dns { 10\.214\.0\.1 \. 53 }/)
})

test('changes of a pod that policies do not depend on write nothing', async t => {
  const world = await start(t)
  await addPod(world, 'web')
  await addPolicy(world, 'deny')
  await world.advance(5_000)
  world.machine.take()
  await world.changeStatus(pods, 'default/web', pod => ({
    ...pod,
    status: { ...pod.status, message: 'hello' },
  }))
  await world.create(namespaces, { metadata: { name: 'unrelated' } })
  assert.equal(world.machine.take(), '')
  await world.changeStatus(pods, 'default/web', pod => ({
    ...pod,
    status: { ...pod.status, phase: 'Succeeded' },
  }))
  const written = world.machine.take()
  assert.match(written, /delete element ip k8ts0-policy ingress-pods { 10\.244\.0\.5 }/)
})

test('a failure to write is retried and shown as an event of the node', async t => {
  const world = await start(t)
  await addPod(world, 'web')
  world.machine.failures = 3
  await addPolicy(world, 'deny')
  await world.advance(30_000)
  assert.match(world.machine.written.at(-1) ?? '', /ingress-set/)
  const recorded = (await world.list(events, 'default')).filter(
    ({ reason }) => reason === 'FailedToSyncNetworkPolicies',
  )
  assert.equal(recorded.length, 1)
  assert.deepEqual(
    [recorded[0]?.involvedObject?.kind, recorded[0]?.involvedObject?.name, recorded[0]?.type],
    ['Node', 'n1', 'Warning'],
  )
  assert.match(recorded[0]?.message ?? '', /Device or resource busy/)
  assert.match(world.metrics.expose('').text, /^network_policy_sync_failures_total 3$/m)
})

test('pods that cannot be read are shown as an event of the node, and no rules are written', async t => {
  const world = await start(t)
  world.machine.take()
  world.forbidden.add('pods')
  await addPod(world, 'web')
  await addPolicy(world, 'deny')
  await world.advance(40_000)
  const reasons = (await world.list(events, 'default')).map(({ reason }) => reason)
  assert.ok(reasons.includes('FailedToSyncNetworkPolicies'))
  assert.equal(world.machine.take(), '')
  world.forbidden.clear()
  await world.advance(120_000)
  assert.match(world.machine.take(), /10\.244\.0\.5 : goto ingress-set\/1/)
})

test('tables that were removed from outside are written again without a change', async t => {
  const world = await start(t)
  await addPod(world, 'web')
  await addPolicy(world, 'deny')
  await world.advance(5_000)
  world.machine.take()
  world.machine.isFlushed = true
  await world.advance(65_000)
  assert.match(world.machine.take(), /add table ip k8ts0-policy[^]*10\.244\.0\.5 : goto ingress-set\/1/)
})

test('a pod waits for its rules, which need no status, and not longer than a bounded time', async t => {
  const world = await start(t)
  await addPolicy(world, 'deny')
  await world.advance(5_000)
  world.machine.take()
  const { signal } = new AbortController()
  const pod = await addPod(world, 'web', {})
  await world.run(world.agent.protectPod(pod, ['10.244.0.7'], signal))
  assert.match(world.machine.take(), /ingress-pods { 10\.244\.0\.7 : goto/)
  // The status brings nothing new.
  await world.changeStatus(pods, 'default/web', each => ({
    ...each,
    status: { phase: 'Running', podIP: '10.244.0.7', podIPs: [{ ip: '10.244.0.7' }] },
  }))
  await world.advance(5_000)
  assert.equal(world.machine.take(), '')
  world.machine.failures = Infinity
  const other = await addPod(world, 'other', {})
  let isDone = false
  const waiting = world.agent.protectPod(other, ['10.244.0.8'], signal).then(() => (isDone = true))
  await world.advance(5_000)
  assert.equal(isDone, false)
  await world.advance(10_000)
  await waiting
  world.machine.failures = 0
})

test('a pod is forgotten when it is deleted before it had a status', async t => {
  const world = await start(t)
  await addPolicy(world, 'deny')
  await world.advance(5_000)
  const pod = await addPod(world, 'web', {})
  await world.run(world.agent.protectPod(pod, ['10.244.0.7'], new AbortController().signal))
  world.machine.take()
  await world.run(world.client.delete(pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 }))
  await world.settle()
  assert.match(world.machine.take(), /delete element ip k8ts0-policy ingress-pods { 10\.244\.0\.7 }/)
})
