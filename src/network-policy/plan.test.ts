import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NetworkPolicySpec } from '#/api/generated/networking/v1.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import { PolicyPlan } from './plan.ts'
import type { PodFacts } from './pod-facts.ts'
import { podOf, PlannedTables, type Connection } from './test-policies.ts'

const usualPods = [
  'x/web app=web 10.244.0.5 fd00::5 http:tcp:80',
  'x/db app=db 10.244.0.6',
  'y/web app=web 10.244.1.5 remote http:tcp:8080',
]

interface Case {
  readonly pods?: readonly string[]
  readonly policies: Readonly<Record<string, NetworkPolicySpec>>
  readonly family?: IpFamily
  /** All lines of the tables but those of sets of pods without policies. */
  readonly lines: readonly string[]
}

function check({ pods = usualPods, policies, family, lines }: Case): void {
  const plan = planOf(pods, policies)
  const tables = new PlannedTables()
  tables.apply(plan)
  const isExpected = (line: string): boolean => !line.endsWith(' : accept }')
  assert.deepEqual(tables.lines(family).filter(isExpected), lines.toSorted())
}

function planOf(pods: readonly string[], policies: Readonly<Record<string, NetworkPolicySpec>>): PolicyPlan {
  const plan = new PolicyPlan()
  for (const name of ['x', 'y']) plan.setNamespace(name, { team: name })
  for (const text of pods) plan.setPod(podOf(text).key, podOf(text))
  for (const [key, spec] of Object.entries(policies)) setPolicy(plan, key, spec)
  return plan
}

function setPolicy(plan: PolicyPlan, key: string, spec: NetworkPolicySpec | undefined): void {
  const [namespace = '', name = ''] = key.split('/')
  plan.setPolicy(key, spec && { metadata: { namespace, name }, spec })
}

const web = { matchLabels: { app: 'web' } }
const client = 'ct original ip saddr'
const server = 'ct reply ip saddr'
const self = `${client} . ${server} @self accept`

/** The chain of the set with the only policy, and the elements of its only pod. */
function isolated(direction: 'ingress' | 'egress', address: string): readonly string[] {
  return [
    `${direction}-pods { ${address} : goto ${direction}-set/1 }`,
    `${direction}-set/1: ${self}`,
    `${direction}-set/1: drop`,
    `${direction}-set/1: jump ${direction}/1/x/p`,
    `self { ${address} . ${address} }`,
  ]
}

describe('planned objects', () => {
  test('local pods are known, and without a policy of theirs not isolated', () => {
    const tables = new PlannedTables()
    tables.apply(planOf(usualPods, { 'y/p': { podSelector: {} } }))
    assert.deepEqual(tables.lines(), [
      'egress-pods { 10.244.0.5 : accept }',
      'egress-pods { 10.244.0.6 : accept }',
      'ingress-pods { 10.244.0.5 : accept }',
      'ingress-pods { 10.244.0.6 : accept }',
    ])
    assert.deepEqual(tables.lines(6), [
      'egress-pods { fd00::5 : accept }',
      'ingress-pods { fd00::5 : accept }',
    ])
  })

  test('without rules nothing is allowed', () => {
    const policies = { 'x/p': { podSelector: web } }
    check({ policies, lines: [...isolated('ingress', '10.244.0.5'), 'ingress/1/x/p: '] })
  })

  test('policyTypes are Ingress, and Egress if there are egress rules', () => {
    const lines = ['ingress', 'egress'].flatMap(direction =>
      isolated(direction as 'ingress' | 'egress', '10.244.0.5'),
    )
    const own = [...new Set(lines)].map(line => line.replace('egress-set/1', 'egress-set/2'))
    check({
      policies: { 'x/p': { podSelector: web, egress: [{}] } },
      lines: [...own, 'ingress/1/x/p: ', 'egress/1/x/p: accept'],
    })
  })

  test('peers are sets of pods anywhere', () => {
    check({
      policies: {
        'x/p': { podSelector: web, ingress: [{ from: [{ namespaceSelector: {}, podSelector: web }] }] },
      },
      lines: [
        ...isolated('ingress', '10.244.0.5'),
        `ingress/1/x/p: ${client} @peers/1 accept`,
        'peers/1 type ipv4_addr ; comment "pods(app=web) in namespaces()" ;',
        'peers/1 { 10.244.0.5 }',
        'peers/1 { 10.244.1.5 }',
      ],
    })
  })

  test('equal selections share a set', () => {
    const from = [{ podSelector: web }]
    const plan = planOf(usualPods, {
      'x/p': { podSelector: {}, ingress: [{ from }, { from, ports: [{ port: 80 }] }] },
      'x/q': { podSelector: web, egress: [{ to: from }] },
    })
    new PlannedTables().apply(plan)
    assert.equal(plan.peerSets, 1)
  })

  test('ports are merged for each protocol', () => {
    const ports = [
      { port: 80 },
      { port: 82, endPort: 90 },
      { port: 81 },
      { port: 85, endPort: 95 },
      { port: 53, protocol: 'UDP' },
      { protocol: 'SCTP' },
    ]
    check({
      policies: { 'x/p': { podSelector: web, policyTypes: ['Egress'], egress: [{ ports }] } },
      lines: [
        ...isolated('egress', '10.244.0.5'),
        'egress/1/x/p: ct original protocol tcp ct reply proto-src 80-95 accept',
        'egress/1/x/p: ct original protocol udp ct reply proto-src 53 accept',
        'egress/1/x/p: ct original protocol sctp accept',
      ],
    })
  })

  test('a named port is the address and port of each pod that has it', () => {
    check({
      policies: { 'x/p': { podSelector: web, ingress: [{ ports: [{ port: 'http' }] }] } },
      lines: [
        ...isolated('ingress', '10.244.0.5'),
        `ingress/1/x/p: ct original protocol tcp ${server} . ct reply proto-src @ports/1/http accept`,
        'ports/1/http type ipv4_addr . inet_service ;',
        'ports/1/http { 10.244.0.5 . 80 }',
        'ports/1/http { 10.244.1.5 . 8080 }',
      ],
    })
  })

  test('blocks are disjoint ranges of the family', () => {
    const blocks = [
      { cidr: '10.0.0.0/24', except: ['10.0.0.4/30', '10.0.0.0/32'] },
      { cidr: '10.0.0.6/32' },
      { cidr: '10.0.1.0/24' },
      { cidr: 'fd00::/64', except: ['fd00::/65'] },
    ]
    const policies = {
      'x/p': { podSelector: web, ingress: [{ from: blocks.map(ipBlock => ({ ipBlock })) }] },
    }
    check({
      policies,
      lines: [
        ...isolated('ingress', '10.244.0.5'),
        ...['10.0.0.1-10.0.0.3', '10.0.0.6', '10.0.0.8-10.0.1.255'].map(
          range => `ingress/1/x/p: ${client} ${range} accept`,
        ),
      ],
    })
    check({
      policies,
      family: 6,
      lines: [
        ...isolated('ingress', 'fd00::5').map(line => line.replaceAll(' ip ', ' ip6 ')),
        'ingress/1/x/p: ct original ip6 saddr fd00::8000:0:0:0-fd00::ffff:ffff:ffff:ffff accept',
      ],
    })
  })

  test('a block of the other family allows nothing, one of all addresses needs no match', () => {
    const from = [{ ipBlock: { cidr: '::/0' } }]
    const policies = { 'x/p': { podSelector: web, ingress: [{ from }] } }
    check({ policies, lines: [...isolated('ingress', '10.244.0.5'), 'ingress/1/x/p: '] })
    const v6 = isolated('ingress', 'fd00::5').map(line => line.replaceAll(' ip ', ' ip6 '))
    check({ policies, family: 6, lines: [...v6, 'ingress/1/x/p: accept'] })
  })

  test('many peers and ports are their sum, not their product', () => {
    const from = ['a', 'b', 'c'].map(app => ({ podSelector: { matchLabels: { app } } }))
    const ports = ['TCP', 'UDP', 'SCTP'].map(protocol => ({ protocol, port: 53 }))
    check({
      policies: { 'x/p': { podSelector: web, ingress: [{ from, ports }] } },
      lines: [
        ...isolated('ingress', '10.244.0.5'),
        ...['a', 'b', 'c'].map(
          (app, index) => `peers/${index + 1} type ipv4_addr ; comment "pods(app=${app}) in namespace x" ;`,
        ),
        ...[1, 2, 3].map(id => `ingress/1/x/p/0: ${client} @peers/${id} accept`),
        ...['tcp', 'udp', 'sctp'].map(
          protocol =>
            `ingress/1/x/p: ct original protocol ${protocol} ct reply proto-src 53 jump ingress/1/x/p/0`,
        ),
      ],
    })
  })
})

test('many ranges are one set', () => {
  const ports = [80, 90, 100, 110, 120].map(port => ({ port }))
  check({
    policies: { 'x/p': { podSelector: web, ingress: [{ ports }] } },
    lines: [
      ...isolated('ingress', '10.244.0.5'),
      'ingress/1/x/p: ct original protocol tcp ct reply proto-src { 80, 90, 100, 110, 120 } accept',
    ],
  })
})

test('a namespace that is not known yet matches no selector', () => {
  const namespaceSelector = { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }
  const plan = new PolicyPlan()
  const tables = new PlannedTables()
  for (const text of usualPods) plan.setPod(podOf(text).key, podOf(text))
  setPolicy(plan, 'x/p', { podSelector: web, ingress: [{ from: [{ namespaceSelector }] }] })
  tables.apply(plan)
  const peers = (): readonly string[] => tables.lines().filter(line => line.startsWith('peers/1 {'))
  assert.deepEqual(peers(), [])
  plan.setNamespace('y', {})
  tables.apply(plan)
  assert.deepEqual(peers(), ['peers/1 { 10.244.1.5 }'])
})

test('selectors above the bound of elements of a namespace select nothing, others are not affected', () => {
  const plan = new PolicyPlan()
  for (const name of ['x', 'y']) plan.setNamespace(name, {})
  plan.setPod('x/web', podOf('x/web app=web 10.244.0.5'))
  for (let number = 0; number < 999; number++)
    plan.setPod(`y/p${number}`, podOf(`y/p${number} 10.1.${number >> 8}.${number & 255}`))
  const broad = (count: number) =>
    Array.from({ length: count }, (_, number) => ({
      namespaceSelector: {},
      podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`v${number}`] }] },
    }))
  const tables = new PlannedTables()
  setPolicy(plan, 'x/many', { podSelector: {}, ingress: [{ from: broad(510) }] })
  setPolicy(plan, 'y/few', { podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] })
  tables.apply(plan)
  assert.deepEqual([...plan.takeExcluded()], [['x/many', 10]])
  assert.equal(plan.peerSets, 501)
  setPolicy(plan, 'x/many', { podSelector: {}, ingress: [{ from: broad(500) }] })
  tables.apply(plan)
  assert.deepEqual([...plan.takeExcluded()], [])
  assert.equal(plan.peerSets, 501)
})

describe('incremental planning', () => {
  const policies = {
    'x/p': { podSelector: web, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'db' } } }] }] },
    'x/q': { podSelector: web, ingress: [{ from: [{ namespaceSelector: {} }] }] },
  }

  test('a change of one object changes only what depends on it', () => {
    const plan = planOf(usualPods, policies)
    const tables = new PlannedTables()
    tables.apply(plan)
    const changed = (change: () => void): readonly string[] => {
      change()
      return tables.apply(plan)
    }
    const set = (text: string): void => plan.setPod(podOf(text).key, podOf(text))
    assert.deepEqual(
      changed(() => set(usualPods[0]!)),
      [],
    )
    assert.deepEqual(
      changed(() => set('x/db app=db 10.244.0.7')),
      ['pod x/db'],
    )
    assert.deepEqual(
      changed(() => set('x/new app=web 10.244.0.8')),
      ['pod x/new'],
      'the set of policies exists',
    )
    assert.deepEqual(
      changed(() => setPolicy(plan, 'x/p', { ...policies['x/p'], ingress: [{}] })),
      ['peers/1', 'pod x/db', 'pod x/new', 'pod x/web', 'policy egress/1/x/p', 'policy ingress/1/x/p'],
    )
    assert.deepEqual(
      changed(() => plan.setNamespace('y', { team: 'y' })),
      [],
    )
    assert.deepEqual(
      changed(() => plan.setNamespace('y', { team: 'z' })),
      ['pod y/web'],
    )
  })

  test('policies of other nodes need no objects', () => {
    const plan = planOf(usualPods, {
      'y/p': { podSelector: {}, ingress: [{ from: [{ podSelector: web }] }] },
    })
    new PlannedTables().apply(plan)
    assert.deepEqual([plan.activePolicies, plan.peerSets], [0, 0])
  })

  test('nothing is left when everything is deleted', () => {
    const plan = planOf(usualPods, policies)
    const tables = new PlannedTables()
    tables.apply(plan)
    for (const key of Object.keys(policies)) setPolicy(plan, key, undefined)
    tables.apply(plan)
    assert.equal(plan.peerSets, 0)
    for (const text of usualPods) plan.setPod(podOf(text).key, undefined)
    tables.apply(plan)
    assert.deepEqual([...tables.lines(4), ...tables.lines(6)], [])
  })

  test('planning in slices ends at the same tables', () => {
    const [whole, batches] = [new PlannedTables(), new PlannedTables()]
    whole.apply(planOf(usualPods, policies))
    const plan = planOf(usualPods, policies)
    let rounds = 0
    for (; plan.isPending; rounds++) plan.plan(() => true)
    batches.apply(plan)
    assert.ok(rounds >= usualPods.length)
    assert.deepEqual(batches.lines(), whole.lines())
  })
})

for (let seed = 1; seed <= 40; seed++) {
  test(`random changes end at what the policies say, seed ${seed}`, () => {
    const world = new RandomWorld(seed)
    for (let step = 0; step < 60; step++) {
      world.change()
      if (step % 3 === 0) world.verify()
    }
    world.verify()
    world.clear()
  })
}

/** Changes a cluster at random, and compares the tables with a direct reading of all its policies. */
class RandomWorld {
  readonly #plan = new PolicyPlan()
  readonly #tables = new PlannedTables()
  readonly #pods = new Map<string, PodFacts>()
  readonly #policies = new Map<string, NetworkPolicySpec>()
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>()
  #state: number

  constructor(seed: number) {
    this.#state = seed
    for (const name of ['x', 'y']) this.#setNamespace(name)
  }

  change(): void {
    const kind = this.#below(10)
    const namespace = this.#one(['x', 'y'])
    if (kind === 0) this.#setNamespace(namespace)
    else if (kind < 6) this.#setPod(`${namespace}/${this.#one(['a', 'b', 'c', 'd'])}`)
    else this.#setPolicy(`${namespace}/${this.#one(['p', 'q', 'r'])}`)
  }

  verify(): void {
    this.#tables.apply(this.#plan)
    const all = [...this.#pods.values()]
    for (const from of all)
      for (const to of all)
        for (const [protocol, port] of [
          ['tcp', 80],
          ['tcp', 81],
          ['udp', 80],
          ['icmp', 0],
        ] as const) {
          const connection = { from: from.addresses[0]!, to: to.addresses[0]!, protocol, port }
          const expected = from === to || (this.#isAllowed(from, to, connection) ?? true)
          const text = JSON.stringify([connection, [...this.#policies]])
          assert.equal(this.#tables.accepts(connection), expected, text)
        }
  }

  clear(): void {
    for (const key of this.#policies.keys()) setPolicy(this.#plan, key, undefined)
    for (const key of this.#pods.keys()) this.#plan.setPod(key, undefined)
    this.#tables.apply(this.#plan)
    assert.deepEqual(this.#tables.lines(), [])
  }

  #isAllowed(from: PodFacts, to: PodFacts, connection: Connection): boolean {
    const ingress = !to.isLocal || this.#allows('ingress', { pod: to, peer: from, server: to }, connection)
    const egress = !from.isLocal || this.#allows('egress', { pod: from, peer: to, server: to }, connection)
    return ingress && egress
  }

  #allows(
    direction: 'ingress' | 'egress',
    { pod, peer, server }: { readonly pod: PodFacts; readonly peer: PodFacts; readonly server: PodFacts },
    { protocol, port }: Connection,
  ): boolean {
    const own = [...this.#policies].filter(([key, { podSelector, egress, policyTypes }]) => {
      const types = policyTypes ?? ['Ingress', ...(egress?.length ? ['Egress'] : [])]
      const isOfType = types.some(type => type.toLowerCase() === direction)
      const isThere = key.startsWith(`${pod.namespace}/`)
      return isOfType && isThere && compileLabelSelector(podSelector ?? {}).matches(pod.labels)
    })
    if (own.length === 0) return true
    return own.some(([key, spec]) =>
      (spec[direction] ?? []).some(rule => {
        const peers = 'from' in rule ? rule.from : 'to' in rule ? rule.to : undefined
        const isPeer =
          !peers?.length ||
          peers.some(({ ipBlock, namespaceSelector, podSelector }) => {
            if (ipBlock) {
              const ip = parseIp(peer.addresses[0]!)!
              const isIn = (cidr: string): boolean => cidrContains(parseCidr(cidr)!, ip)
              return isIn(ipBlock.cidr) && !(ipBlock.except ?? []).some(isIn)
            }
            const isThere = namespaceSelector
              ? compileLabelSelector(namespaceSelector).matches(this.#namespaces.get(peer.namespace))
              : key.startsWith(`${peer.namespace}/`)
            return isThere && compileLabelSelector(podSelector ?? {}).matches(peer.labels)
          })
        const isPort =
          !rule.ports?.length ||
          rule.ports.some(({ protocol: text = 'TCP', port: wanted, endPort }) => {
            if (text.toLowerCase() !== protocol) return false
            if (typeof wanted === 'string')
              return server.namedPorts.some(
                named => named.name === wanted && named.protocol === protocol && named.port === port,
              )
            return wanted === undefined || (port >= wanted && port <= (endPort ?? wanted))
          })
        return isPeer && isPort
      }),
    )
  }

  #setNamespace(name: string): void {
    const labels = { team: this.#one(['blue', 'red']) }
    this.#namespaces.set(name, labels)
    this.#plan.setNamespace(name, labels)
  }

  #setPod(key: string): void {
    const index = ['x/a', 'x/b', 'x/c', 'x/d', 'y/a', 'y/b', 'y/c', 'y/d'].indexOf(key)
    const words = [
      `app=${this.#one(['web', 'db'])},tier=${this.#one(['1', '2'])}`,
      `10.244.0.${index * 2 + this.#below(2)}`,
      ...(this.#below(3) === 0 ? ['remote'] : []),
      ...(this.#below(2) === 0 ? [`http:tcp:${80 + this.#below(2)}`] : []),
    ]
    const pod = this.#below(5) === 0 ? undefined : podOf([key, ...words].join(' '))
    if (pod) this.#pods.set(key, pod)
    else this.#pods.delete(key)
    this.#plan.setPod(key, pod)
  }

  #setPolicy(key: string): void {
    const spec = this.#below(4) === 0 ? undefined : this.#spec()
    if (spec) this.#policies.set(key, spec)
    else this.#policies.delete(key)
    setPolicy(this.#plan, key, spec)
  }

  #spec(): NetworkPolicySpec {
    const several = <T>(make: () => T): readonly T[] => Array.from({ length: this.#below(3) }, make)
    const peer = () => this.#peer()
    const port = () =>
      this.#one([{ port: 80 }, { port: 80, endPort: 81 }, { port: 'http' }, { protocol: 'UDP' }])
    const types = this.#one([undefined, ['Ingress'], ['Egress'], ['Ingress', 'Egress']])
    return {
      podSelector: this.#selector(),
      ingress: several(() => ({ from: several(peer), ports: several(port) })),
      egress: several(() => ({ to: several(peer), ports: several(port) })),
      ...(types && { policyTypes: types }),
    }
  }

  #peer(): NonNullable<NonNullable<NetworkPolicySpec['ingress']>[number]['from']>[number] {
    const namespaceSelector = this.#one([{}, { matchLabels: { team: 'red' } }])
    return this.#one([
      { podSelector: this.#selector() },
      { namespaceSelector },
      { namespaceSelector, podSelector: this.#selector() },
      { ipBlock: { cidr: '10.244.0.0/29', except: ['10.244.0.2/31'] } },
    ])
  }

  #selector(): NonNullable<NetworkPolicySpec['podSelector']> {
    return this.#one([
      {},
      web,
      { matchLabels: { app: 'db', tier: '1' } },
      { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['1'] }] },
    ])
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#below(all.length)]!
  }

  /** A linear congruential generator. */
  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }
}
