/**
 * Network policies on a real kernel: namespaces stand for pods, and every case is a connection between two of them.
 */
import assert from 'node:assert/strict'
import test, { before, describe, type TestContext } from 'node:test'
import type { NetworkPolicySpec } from '#/api/generated/networking/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { namespaces, nodes, pods, serviceAccounts, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import { NetworkPolicyAgent } from '#/network-policy/network-policy.ts'
import { waitForPodRules } from '#/network-policy/wait-for-pod-rules.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import type { Protocol } from './network-agent.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { TestNetwork, type TestNamespace } from './test-network.ts'
import { waitUntil } from '../wait-until.ts'

const table = 'k8ts0-policy'
const nodeName = 'n1'

interface TestPod {
  /** `x/a`: namespace and name. */
  readonly key: string
  readonly ipv4: string
  readonly ipv6: string
  readonly namespace: TestNamespace
}

/** A node with nine pods, `a`, `b` and `c` in the namespaces `x`, `y` and `z`, and the agent. */
class World {
  readonly api: TestApiServer
  readonly net: TestNetwork
  readonly pods: readonly TestPod[]

  private constructor(api: TestApiServer, net: TestNetwork, all: readonly TestPod[]) {
    this.api = api
    this.net = net
    this.pods = all
  }

  static async start(t: Pick<TestContext, 'after'>): Promise<World> {
    const net = await TestNetwork.create(t)
    const api = await startTestApiServer(t)
    await ensureRoleBindings(api.client, api.platform.log)
    await api.client.create(nodes, {
      metadata: { name: nodeName },
      spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24', 'fd00:244::/64'] },
    })
    const all: TestPod[] = []
    for (const namespace of ['x', 'y', 'z']) {
      await api.client.create(namespaces, { metadata: { name: namespace, labels: { team: namespace } } })
      await api.client.create(serviceAccounts, { metadata: { namespace, name: 'default' } })
      for (const name of ['a', 'b', 'c']) {
        const number = 11 + all.length
        const addresses = { ipv4: `10.244.0.${number}`, ipv6: `fd00:244::${number}` }
        const made = await net.addPod(addresses.ipv4, addresses.ipv6)
        for (const protocol of ['tcp', 'udp'] as const)
          for (const port of [80, 81]) await made.agent.serve(`${namespace}/${name}`, protocol, port, '::')
        all.push({ key: `${namespace}/${name}`, ...addresses, namespace: made })
      }
    }
    const world = new World(api, net, all)
    for (const pod of all) await world.createPod(pod)
    return world
  }

  async createPod({ key, ipv4, ipv6 }: Omit<TestPod, 'namespace'>): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const { client } = this.api
    // The named port is another number in pods c.
    const containerPort = name === 'c' ? 81 : 80
    const ports = [
      { name: 'http', containerPort, protocol: 'TCP' },
      { name: 'dns', containerPort: 81, protocol: 'UDP' },
    ]
    const created = await client.create(pods, {
      metadata: { namespace, name, labels: { pod: name } },
      spec: { nodeName, containers: [{ name: 'c', image: 'i', ports }] },
    })
    const status = { phase: 'Running', podIP: ipv4, podIPs: [{ ip: ipv4 }, { ip: ipv6 }] }
    await client.updateStatus(pods, { ...created, status })
  }

  /** Returns a function that stops the agent; its rules remain. */
  async startAgent(): Promise<{ readonly agent: NetworkPolicyAgent; readonly stop: () => Promise<void> }> {
    const { platform, clientAs } = this.api
    const agent = new NetworkPolicyAgent({
      platform,
      linux: this.net.node.linux,
      client: clientAs('system:kube-proxy'),
      nodeName,
      table,
      families: [4, 6],
    })
    return { agent, stop: await running(agent) }
  }

  pod(key: string): TestPod {
    const found = this.pods.find(pod => pod.key === key)
    assert.ok(found, key)
    return found
  }

  /** Replaces all policies. */
  async setPolicies(policies: Readonly<Record<string, NetworkPolicySpec>>): Promise<void> {
    const { client } = this.api
    for (const { metadata } of (await client.list(networkPolicies, {})).items)
      await client.delete(networkPolicies, metadata)
    for (const [key, spec] of Object.entries(policies)) {
      const [namespace = '', name = ''] = key.split('/')
      await client.create(networkPolicies, { metadata: { namespace, name }, spec })
    }
  }

  rules(): Promise<string> {
    return this.net.node.linux.run(['nft', 'list', 'ruleset'])
  }
}

async function running(program: {
  run: (signal: AbortSignal) => Promise<void>
  synced: Promise<void>
}): Promise<() => Promise<void>> {
  const stopping = new AbortController()
  const run = program.run(stopping.signal)
  await program.synced
  return async () => {
    stopping.abort()
    await run
  }
}

/** A connection of the matrix. */
interface Probe {
  readonly from: TestPod
  readonly to: TestPod
  readonly protocol: Protocol
  readonly port: 80 | 81
  readonly family: 4 | 6
}

interface Scenario {
  readonly name: string
  readonly policies: Readonly<Record<string, NetworkPolicySpec>>
  /** Of connections between different pods, given as `x/a`, and the port as `tcp 80`. */
  readonly allows: (from: string, to: string, port: string, family: 4 | 6) => boolean
}

/** Time after which a connection counts as dropped. Those that should be allowed are tried again. */
const silentMs = 700
const roundsMax = 30

async function probe({ from, to, protocol, port, family }: Probe, timeoutMs: number): Promise<boolean> {
  const at = family === 4 ? `${to.ipv4}:${port}` : `[${to.ipv6}]:${port}`
  const answer = await from.namespace.agent.ask(protocol, at, { timeoutMs })
  if (answer === 'silence') return false
  assert.match(answer, new RegExp(`^${to.key} `), `unexpected answer from ${at}`)
  return true
}

/** Tries all connections of the scenario, and those with a wrong result again while the rules are being written. */
async function verify(world: World, { allows, policies }: Scenario): Promise<number> {
  await world.setPolicies(policies)
  const isAllowed = ({ from, to, protocol, port, family }: Probe): boolean =>
    from === to || allows(from.key, to.key, `${protocol} ${port}`, family)
  const all = world.pods.flatMap(from =>
    world.pods.flatMap(to =>
      (['tcp', 'udp'] as const).flatMap(protocol =>
        ([80, 81] as const).flatMap(port =>
          ([4, 6] as const).map((family): Probe => ({ from, to, protocol, port, family })),
        ),
      ),
    ),
  )
  let wrong: readonly Probe[] = all
  for (let round = 0; round < roundsMax && wrong.length > 0; round++) {
    const results = await Promise.all(wrong.map(each => probe(each, silentMs)))
    wrong = wrong.filter((each, index) => results[index] !== isAllowed(each))
  }
  const texts = wrong.map(({ from, to, ...each }) => JSON.stringify({ from: from.key, to: to.key, ...each }))
  assert.deepEqual(texts.slice(0, 10), [], `${texts.length} of ${all.length} connections are wrong`)
  return all.length
}

const everyPod = { podSelector: {} }
const podA = { matchLabels: { pod: 'a' } }
const teamY = { matchLabels: { team: 'y' } }

function inside(key: string, namespace: string): boolean {
  return key.startsWith(`${namespace}/`)
}

const scenarios: readonly Scenario[] = [
  { name: 'no policy allows everything', policies: {}, allows: () => true },
  {
    name: 'deny all ingress of a namespace',
    policies: { 'x/deny': everyPod },
    allows: (_from, to) => !inside(to, 'x'),
  },
  {
    name: 'deny all egress of a namespace',
    policies: { 'x/deny': { podSelector: {}, policyTypes: ['Egress'] } },
    allows: from => !inside(from, 'x'),
  },
  {
    name: 'an empty from and empty ports allow all',
    policies: { 'x/deny': everyPod, 'x/all': { podSelector: podA, ingress: [{}] } },
    allows: (_from, to) => !inside(to, 'x') || to === 'x/a',
  },
  {
    name: 'a podSelector selects in the namespace of the policy',
    policies: { 'x/p': { podSelector: {}, ingress: [{ from: [{ podSelector: podA }] }] } },
    allows: (from, to) => !inside(to, 'x') || from === 'x/a',
  },
  {
    name: 'a namespaceSelector selects all pods of namespaces',
    policies: { 'x/p': { podSelector: podA, ingress: [{ from: [{ namespaceSelector: teamY }] }] } },
    allows: (from, to) => to !== 'x/a' || inside(from, 'y'),
  },
  {
    name: 'both selectors of one peer select pods in namespaces, two peers are alternatives',
    policies: {
      'x/both': {
        podSelector: podA,
        ingress: [{ from: [{ namespaceSelector: teamY, podSelector: podA }] }],
      },
      'x/either': {
        podSelector: { matchLabels: { pod: 'b' } },
        ingress: [{ from: [{ namespaceSelector: teamY }, { podSelector: podA }] }],
      },
    },
    allows: (from, to) => {
      if (to === 'x/a') return from === 'y/a'
      return to !== 'x/b' || inside(from, 'y') || from === 'x/a'
    },
  },
  {
    name: 'expressions select pods and namespaces',
    policies: {
      'z/p': {
        podSelector: { matchExpressions: [{ key: 'pod', operator: 'In', values: ['a', 'b'] }] },
        ingress: [
          {
            from: [
              {
                namespaceSelector: {
                  matchExpressions: [
                    { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['x'] },
                  ],
                },
                podSelector: { matchExpressions: [{ key: 'pod', operator: 'NotIn', values: ['c'] }] },
              },
            ],
          },
        ],
      },
    },
    allows: (from, to) => !['z/a', 'z/b'].includes(to) || (!inside(from, 'x') && !from.endsWith('/c')),
  },
  {
    name: 'ports, ranges and protocols',
    policies: {
      'x/port': { podSelector: podA, ingress: [{ ports: [{ port: 80, protocol: 'TCP' }] }] },
      'x/range': {
        podSelector: { matchLabels: { pod: 'b' } },
        ingress: [{ ports: [{ port: 81, endPort: 90, protocol: 'UDP' }] }],
      },
      'x/protocol': {
        podSelector: { matchLabels: { pod: 'c' } },
        ingress: [
          { ports: [{ protocol: 'UDP' }, { port: 80, protocol: 'SCTP' }, { protocol: 'SCTP' }] },
          { ports: [{ port: 81 }, { port: 81, endPort: 99 }] },
        ],
      },
    },
    allows: (_from, to, port) => {
      if (to === 'x/a') return port === 'tcp 80'
      if (to === 'x/b') return port === 'udp 81'
      return to !== 'x/c' || port !== 'tcp 80'
    },
  },
  {
    name: 'a named port is resolved for each destination, in both directions',
    policies: {
      'x/in': { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] },
      'y/out': {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [
          { to: [{ namespaceSelector: {} }], ports: [{ port: 'http' }, { port: 'dns', protocol: 'UDP' }] },
        ],
      },
    },
    allows: (from, to, port) => {
      const isHttp = port === (to.endsWith('/c') ? 'tcp 81' : 'tcp 80')
      return (!inside(to, 'x') || isHttp) && (!inside(from, 'y') || isHttp || port === 'udp 81')
    },
  },
  {
    name: 'ipBlock with exceptions and overlapping blocks, of each family',
    policies: {
      'x/block': {
        podSelector: {},
        ingress: [
          {
            from: [
              { ipBlock: { cidr: '10.244.0.0/24', except: ['10.244.0.14/32', '10.244.0.16/30'] } },
              { ipBlock: { cidr: '10.244.0.18/32' } },
              { ipBlock: { cidr: 'fd00:244::14/128' } },
            ],
          },
        ],
      },
    },
    allows: (from, to, _port, family) => {
      if (!inside(to, 'x')) return true
      // y/a is .14, y/c is .16, z/a is .17, z/b is .18 and z/c is .19.
      return family === 6 ? from === 'y/a' : !['y/a', 'y/c', 'z/a', 'z/c'].includes(from)
    },
  },
  {
    name: 'ingress and egress of both pods must allow a connection',
    policies: {
      'x/out': {
        podSelector: {},
        policyTypes: ['Egress'],
        egress: [{ to: [{ namespaceSelector: teamY }], ports: [{ port: 80 }] }],
      },
      'y/in': {
        podSelector: {},
        ingress: [{ from: [{ namespaceSelector: {}, podSelector: podA }] }],
      },
    },
    allows: (from, to, port) =>
      (!inside(from, 'x') || (inside(to, 'y') && port === 'tcp 80')) &&
      (!inside(to, 'y') || from.endsWith('/a')),
  },
  {
    name: 'a policy with egress rules isolates in both directions without policyTypes',
    policies: { 'x/p': { podSelector: podA, egress: [{ to: [{ podSelector: {} }] }] } },
    allows: (from, to) => to !== 'x/a' && (from !== 'x/a' || inside(to, 'x')),
  },
  {
    name: 'many peers and many ports in one rule',
    policies: {
      'y/p': {
        podSelector: {},
        ingress: [
          {
            from: [
              { podSelector: podA },
              { namespaceSelector: { matchLabels: { team: 'z' } } },
              { ipBlock: { cidr: '10.244.0.11/32' } },
            ],
            ports: [
              ...[80, 7, 9, 11, 13, 15].map(port => ({ port })),
              { port: 81, protocol: 'UDP' },
              { port: 'dns', protocol: 'UDP' },
            ],
          },
        ],
      },
    },
    allows: (from, to, port, family) => {
      if (!inside(to, 'y')) return true
      const isPeer = from === 'y/a' || inside(from, 'z') || (from === 'x/a' && family === 4)
      return isPeer && ['tcp 80', 'udp 81'].includes(port)
    },
  },
]

describe('network policies on a real node', () => {
  let world: World
  let agent: NetworkPolicyAgent
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await World.start({ after: end => void ends.push(end as () => Promise<void>) })
    const started = await world.startAgent()
    agent = started.agent
    ends.push(started.stop)
  })
  test.after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  for (const scenario of scenarios) {
    test(scenario.name, async t => {
      t.diagnostic(`${await verify(world, scenario)} connections`)
    })
  }

  test('a new policy ends established connections, and those that stay allowed go on', async () => {
    await world.setPolicies({})
    const [from, cut, kept] = ['x/a', 'y/a', 'y/b'].map(key => world.pod(key)) as [TestPod, TestPod, TestPod]
    for (const { namespace } of [cut, kept]) await namespace.agent.echo(7000)
    await waitUntil(async () => !(await world.rules()).includes(table))
    const [ending, lasting] = await Promise.all(
      [cut, kept].map(({ ipv4 }) => from.namespace.agent.open(`${ipv4}:7000`)),
    )
    assert.deepEqual([await ending?.exchange(), await lasting?.exchange()], ['echo', 'echo'])
    await world.setPolicies({ 'y/p': { podSelector: podA } })
    await waitUntil(async () => (await ending?.exchange(200)) === 'silence')
    assert.equal(await lasting?.exchange(), 'echo')
    // The policy of the client, too.
    await world.setPolicies({ 'x/p': { podSelector: podA, policyTypes: ['Egress'] } })
    await waitUntil(async () => (await lasting?.exchange(200)) === 'silence')
  })

  test('without policies there are no rules, and the last policy takes them along', async () => {
    await world.setPolicies({ 'x/deny': everyPod })
    await waitUntil(async () => (await world.rules()).includes(table))
    await world.setPolicies({})
    await waitUntil(async () => !(await world.rules()).includes(table))
  })

  test('packets of an unknown pod are dropped until the kubelet has told it', async () => {
    await world.setPolicies({ 'x/deny': everyPod })
    await waitUntil(async () => (await world.rules()).includes('ingress-set'))
    const addresses = ['10.244.0.30', 'fd00:244::30']
    const late = await world.net.addPod(addresses[0]!, addresses[1])
    await late.agent.serve('late', 'tcp', 80, '::')
    const ask = (at: string, timeoutMs: number): Promise<string> =>
      late.agent.ask('tcp', `${at}:80`, { timeoutMs })
    const y = world.pod('y/a')
    assert.equal(await ask(y.ipv4, silentMs), 'silence')
    assert.equal(await ask(`[${y.ipv6}]`, silentMs), 'silence')
    const intoLate = (): Promise<string> =>
      y.namespace.agent.ask('tcp', '10.244.0.30:80', { timeoutMs: silentMs })
    assert.equal(await intoLate(), 'silence')
    const pod: Pod = {
      metadata: { namespace: 'x', name: 'late', uid: 'u' },
      spec: { nodeName, containers: [] },
    }
    await agent.protectPod(pod, addresses, AbortSignal.timeout(60_000))
    // Its policy is in force with its first packet: it may send, but not receive.
    assert.match(await ask(y.ipv4, 30_000), /^y\/a /)
    assert.equal(await intoLate(), 'silence')
    // The node reaches its own pods.
    assert.match(await world.net.node.agent.ask('tcp', '10.244.0.30:80'), /^late /)
    assert.match(await late.agent.ask('tcp', `${world.pod('z/a').ipv4}:80`), /^z\/a /)
  })

  test('a kubelet of another process waits for the rules of a pod, which come with its status', async () => {
    const { platform } = world.api
    const options = { platform, linux: world.net.node.linux, table }
    const pod = { key: 'y/later', ipv4: '10.244.0.40', ipv6: 'fd00:244::40' }
    const wait = (signal: AbortSignal): Promise<void> =>
      waitForPodRules(options, [pod.ipv4, pod.ipv6], signal)
    const { signal } = new AbortController()
    await world.setPolicies({})
    await waitUntil(async () => !(await world.rules()).includes(table))
    await wait(signal)
    await world.setPolicies({ 'x/deny': everyPod })
    await waitUntil(async () => (await world.rules()).includes('ingress-set'))
    await assert.rejects(wait(AbortSignal.timeout(300)))
    const waiting = wait(signal)
    await world.createPod(pod)
    await waiting
    assert.match(await world.rules(), /fd00:244::40 : accept/)
  })

  test('rules that were flushed from outside are written again', async () => {
    const { client } = world.api
    await world.setPolicies({ 'x/deny': everyPod })
    await waitUntil(async () => (await world.rules()).includes('ingress-set'))
    await world.net.node.linux.run(['nft', 'flush', 'ruleset'])
    // Any change shows that the tables are gone; without one the next verification does.
    await client.create(networkPolicies, { metadata: { namespace: 'y', name: 'deny' }, spec: everyPod })
    const [from, to] = [world.pod('z/a'), world.pod('x/a')]
    await waitUntil(async () => {
      return (await from.namespace.agent.ask('tcp', `${to.ipv4}:80`, { timeoutMs: silentMs })) === 'silence'
    })
  })

  test('services: endpoints are judged, a pod reaches itself, and ICMP errors arrive', async () => {
    const { client, platform, clientAs } = world.api
    const proxy = new ServiceProxy({
      platform,
      linux: world.net.node.linux,
      client: clientAs('system:kube-proxy'),
      nodeName,
      network: {
        table: 'k8ts0-proxy',
        families: [4, 6],
        podCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
        serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
        nodeAddresses: ['198.51.100.1'],
      },
      healthAddresses: ['127.0.0.1'],
    })
    ends.push(await running(proxy))
    const service = async (name: string, clusterIP: string, address: string): Promise<void> => {
      const metadata = { namespace: 'x', name }
      const ports = ['TCP', 'UDP'].map(protocol => ({ name: protocol.toLowerCase(), port: 8000, protocol }))
      await client.create(services, { metadata, spec: { clusterIP, ports } })
      await client.create(endpointSlices, {
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [address], nodeName, conditions: { ready: true } }],
        ports: ports.map(({ name: port, protocol }) => ({ name: port, port: 80, protocol })),
      })
    }
    const [a, b, c, other] = ['x/a', 'x/b', 'x/c', 'y/a'].map(key => world.pod(key)) as [
      TestPod,
      TestPod,
      TestPod,
      TestPod,
    ]
    await service('a', '10.96.0.30', a.ipv4)
    await service('b', '10.96.0.31', b.ipv4)
    // Egress to b only, by the port of the endpoint; ingress from nowhere for a.
    await world.setPolicies({
      'x/a': {
        podSelector: podA,
        policyTypes: ['Ingress', 'Egress'],
        egress: [{ to: [{ podSelector: { matchLabels: { pod: 'b' } } }], ports: [{ port: 80 }] }],
      },
    })
    const ask = (from: TestPod, protocol: Protocol, at: string, timeoutMs = silentMs): Promise<string> =>
      from.namespace.agent.ask(protocol, at, { timeoutMs })
    await waitUntil(async () => (await ask(a, 'tcp', '10.96.0.31:8000')).startsWith('x/b '))
    await waitUntil(async () => (await ask(other, 'tcp', '10.96.0.30:8000')) === 'silence')
    assert.equal(await ask(a, 'udp', '10.96.0.31:8000'), 'silence')
    // Through the service, masqueraded, in both protocols.
    for (const protocol of ['tcp', 'udp'] as const)
      await waitUntil(async () => (await ask(a, protocol, '10.96.0.30:8000')).startsWith('x/a '))
    // A closed port of an allowed endpoint: the ICMP error of UDP, and the reset of TCP.
    await world.setPolicies({
      'x/a': {
        podSelector: podA,
        policyTypes: ['Egress'],
        egress: [{ to: [{ podSelector: { matchLabels: { pod: 'c' } } }] }],
      },
      'x/c': { podSelector: { matchLabels: { pod: 'c' } }, policyTypes: ['Egress'] },
    })
    for (const protocol of ['udp', 'tcp'] as const)
      await waitUntil(async () => (await ask(a, protocol, `${c.ipv4}:9`)) === 'ECONNREFUSED')
    assert.equal(await ask(a, 'udp', `${b.ipv4}:9`), 'silence')
  })

  test('connections with addresses outside of the cluster, masqueraded', async () => {
    const stranger = await world.net.addStranger()
    await stranger.agent.serve('stranger', 'tcp', 80)
    const masquerade = [
      'add table ip test-network',
      'add chain ip test-network out { type nat hook postrouting priority 100 ; }',
      'add rule ip test-network out ip saddr 10.244.0.0/16 ip daddr 198.51.100.0/24 masquerade',
    ]
    await world.net.node.linux.run(['nft', '-f', '-'], { stdin: `${masquerade.join('\n')}\n` })
    const cidr = '198.51.100.2/32'
    await world.setPolicies({
      'x/out': {
        podSelector: podA,
        policyTypes: ['Egress'],
        egress: [{ to: [{ ipBlock: { cidr } }], ports: [{ port: 80 }] }],
      },
      'y/in': { podSelector: podA, ingress: [{ from: [{ ipBlock: { cidr } }] }] },
      'y/other': { podSelector: { matchLabels: { pod: 'b' } }, ingress: [] },
      'x/other': { podSelector: { matchLabels: { pod: 'b' } }, policyTypes: ['Egress'] },
    })
    const out = (key: string): Promise<string> =>
      world.pod(key).namespace.agent.ask('tcp', '198.51.100.2:80', { timeoutMs: silentMs })
    const into = (key: string): Promise<string> =>
      stranger.agent.ask('tcp', `${world.pod(key).ipv4}:80`, { timeoutMs: silentMs })
    await waitUntil(async () => (await out('x/b')) === 'silence' && (await into('y/b')) === 'silence')
    await waitUntil(async () => (await out('x/a')) === 'stranger 198.51.100.1')
    await waitUntil(async () => (await into('y/a')).startsWith('y/a '))
  })

  test('rules stay when the agent stops, and the next one continues with them', async () => {
    await world.setPolicies({ 'x/deny': everyPod })
    const [from, to] = [world.pod('y/b'), world.pod('x/b')]
    const ask = (): Promise<string> =>
      from.namespace.agent.ask('tcp', `${to.ipv4}:80`, { timeoutMs: silentMs })
    await waitUntil(async () => (await ask()) === 'silence')
    for (const end of ends.splice(-2).toReversed()) await end()
    assert.equal(await ask(), 'silence')
    const next = await world.startAgent()
    ends.push(next.stop)
    assert.equal(await ask(), 'silence')
    await world.setPolicies({})
    await waitUntil(async () => (await ask()).startsWith('x/b '))
  })
})
