import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import { planAddresses } from './plan.ts'
import { readPools } from './pools.ts'
import { parseRange } from './ranges.ts'

interface ServiceChoice {
  readonly name?: string
  readonly families?: string
  readonly policy?: string
  readonly ip?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly namespace?: string
  readonly ports?: readonly string[]
  readonly external?: string
  readonly selector?: Readonly<Record<string, string>>
}

/** `families` are `4`, `6`, `46` or `64`; ports are `80` or `UDP/53`. */
function serviceOf(choice: ServiceChoice = {}): Service {
  const { name = 'web', namespace = 'default', annotations = {}, labels = {}, families = '4' } = choice
  return {
    metadata: { name, namespace, annotations, labels },
    spec: {
      type: 'LoadBalancer',
      ipFamilies: families.split('').map(family => `IPv${family}`),
      ipFamilyPolicy: choice.policy ?? 'PreferDualStack',
      externalTrafficPolicy: choice.external ?? 'Cluster',
      selector: choice.selector ?? { app: name },
      ports: (choice.ports ?? ['80']).map(text => {
        const [protocol = '', port = ''] = text.includes('/') ? text.split('/') : ['TCP', text]
        return { protocol, port: Number(port) }
      }),
      ...(choice.ip && { loadBalancerIP: choice.ip }),
    },
  }
}

const configMap = {
  metadata: { name: 'load-balancer-pools', namespace: 'kube-system' },
  data: {
    lan: 'addresses: [198.51.100.0-198.51.100.2]\navoidBuggyIPs: true\nautoAssign: false',
    shop: 'addresses: [203.0.113.1-203.0.113.2]\nnamespaces: [shop]',
    six: 'addresses: ["2001:db8:6::/126"]\nserviceSelector: { matchLabels: { net: six } }',
  },
}

const pools = readPools(configMap, ['192.0.2.1-192.0.2.2', '2001:db8::1-2001:db8::2'].map(parseRange))

interface World {
  readonly current?: readonly string[]
  readonly currentPool?: string
  /** Older services with their addresses. */
  readonly others?: readonly (readonly [address: string, service: Service])[]
}

/** `addresses @pool`, with `!` before addresses outside of all pools, or the problem. */
function plan(choice: ServiceChoice, { current = [], currentPool, others = [] }: World = {}): string {
  const key = choice.annotations?.['k8ts.io/allow-shared-ip']
  const result = planAddresses({
    service: serviceOf(choice),
    pools,
    current,
    currentPool,
    holdersOf: address =>
      others.flatMap(([held, service]) =>
        held === address ? [{ key: keyOf(service), service, isOlder: true }] : [],
      ),
    shareable: others.flatMap(([address, { metadata }]) =>
      metadata.annotations?.['k8ts.io/allow-shared-ip'] === key ? [address] : [],
    ),
  })
  if (result.problem !== undefined) return result.problem
  const shown = result.addresses.map(address => `${result.outside.includes(address) ? '!' : ''}${address}`)
  return `${shown.join(' ')} @${result.pool}`
}

const other = serviceOf({ name: 'other' })
const taken = (...addresses: readonly string[]): World => ({
  others: addresses.map(address => [address, other] as const),
})
const inLan = { annotations: { 'k8ts.io/address-pool': 'lan' } }

test('a service gets one address per IP family from the first pool that admits it', () => {
  assert.equal(plan({}), '192.0.2.1 @default')
  assert.equal(plan({ families: '64' }), '2001:db8::1 192.0.2.1 @default')
  assert.equal(plan({}, taken('192.0.2.1')), '192.0.2.2 @default')
  assert.equal(plan({}, taken('192.0.2.1', '192.0.2.2')), 'no free IPv4 address in address pool default')
  assert.equal(plan({ namespace: 'shop' }), '203.0.113.1 @shop')
  assert.equal(plan({ namespace: 'shop' }, taken('203.0.113.1', '203.0.113.2')), '192.0.2.1 @default')
  // A pool without one of the families gives what it has, unless both are required.
  assert.equal(plan({ namespace: 'shop', families: '46' }), '203.0.113.1 @shop')
  const both = { namespace: 'shop', families: '46', policy: 'RequireDualStack' }
  assert.equal(plan(both), '192.0.2.1 2001:db8::1 @default')
  assert.equal(plan({ families: '6', labels: { net: 'six' } }), '2001:db8:6:: @six')
})

test('a service can name its pool', () => {
  assert.equal(plan(inLan), '198.51.100.1 @lan')
  assert.equal(plan(inLan, taken('198.51.100.1')), '198.51.100.2 @lan')
  const named = (pool: string): ServiceChoice => ({ annotations: { 'k8ts.io/address-pool': pool } })
  assert.equal(plan(named('wan')), 'there is no address pool wan')
  assert.match(plan(named('shop')), /^address pool shop does not admit the service: check its namespaces/)
  assert.equal(plan({ ...inLan, families: '6' }), 'address pool lan has no IPv6 range')
  assert.equal(plan({ ...inLan, families: '46' }), '198.51.100.1 @lan')
  const required = { ...inLan, families: '46', policy: 'RequireDualStack' }
  assert.equal(plan(required), 'address pool lan has no IPv6 range')
})

test('a service can request addresses, by the field or the annotation', () => {
  const requests = (ips: string): ServiceChoice => ({ annotations: { 'k8ts.io/load-balancer-ips': ips } })
  assert.equal(plan({ ip: '192.0.2.2' }), '192.0.2.2 @default')
  assert.equal(
    plan({ ip: '192.0.2.2' }, { current: ['192.0.2.1'], currentPool: 'default' }),
    '192.0.2.2 @default',
  )
  assert.equal(
    plan({ ip: '192.0.2.2' }, taken('192.0.2.2')),
    '192.0.2.2 is already allocated to service default/other',
  )
  // Also of pools that do not assign addresses by themselves, and addresses that look like a network.
  assert.equal(plan({ ip: '198.51.100.0' }), '198.51.100.0 @lan')
  assert.equal(plan({ ip: '203.0.113.1' }), '203.0.113.1 is not in an address pool for the service')
  const dual = { ...requests('2001:db8::2, 192.0.2.2'), families: '46' }
  assert.equal(plan(dual), '192.0.2.2 2001:db8::2 @default')
  assert.equal(plan({ ...requests('192.0.2.2'), families: '46' }), '192.0.2.2 2001:db8::1 @default')
  assert.equal(plan(requests('x')), 'invalid annotation k8ts.io/load-balancer-ips: x')
  assert.equal(
    plan({ ip: '2001:db8::1' }),
    'the IP family of loadBalancerIP 2001:db8::1 is not in ipFamilies of the service',
  )
  assert.match(plan(requests('192.0.2.1,192.0.2.2')), / 192.0.2.2 is the second IPv4 address$/)
  assert.match(plan({ ...requests('192.0.2.1'), ip: '192.0.2.1' }), / are both set$/)
})

test('addresses are kept until the service requests others, also when their pool has lost them', () => {
  const lost = { current: ['192.0.2.77'], currentPool: 'default' }
  const cases: readonly (readonly [choice: ServiceChoice, world: World, expected: string])[] = [
    [{}, { current: ['192.0.2.2'] }, '192.0.2.2 @default'],
    [{}, { ...taken('192.0.2.2'), current: ['192.0.2.2'] }, '192.0.2.1 @default'],
    [{}, { current: ['198.51.100.1'], currentPool: 'lan' }, '198.51.100.1 @lan'],
    [{}, lost, '!192.0.2.77 @default'],
    [{ families: '46' }, lost, '!192.0.2.77 2001:db8::1 @default'],
    [{ ip: '192.0.2.1' }, lost, '192.0.2.1 @default'],
    [inLan, lost, '198.51.100.1 @lan'],
    [inLan, { current: ['198.51.100.99'], currentPool: 'lan' }, '!198.51.100.99 @lan'],
    // Without the annotation the address is not from a pool.
    [{}, { current: ['192.0.2.77'] }, '192.0.2.1 @default'],
    [{}, { current: ['2001:db8::2'] }, '192.0.2.1 @default'],
  ]
  for (const [choice, world, expected] of cases) assert.equal(plan(choice, world), expected)
})

test('services share an address with the same key, different ports and the same way of their traffic', () => {
  const shares = (choice: ServiceChoice, key = 'k'): ServiceChoice => ({
    annotations: { 'k8ts.io/allow-shared-ip': key },
    ...choice,
  })
  const holder = (choice: ServiceChoice): World => ({
    others: [['192.0.2.2', serviceOf(shares({ name: 'other', ...choice }))]],
  })
  const dns = shares({ ports: ['UDP/53'] })
  assert.equal(plan(dns, holder({ ports: ['TCP/53'] })), '192.0.2.2 @default')
  assert.equal(plan(dns, holder({ ports: ['UDP/53'] })), '192.0.2.1 @default')
  assert.equal(plan(shares({ ports: ['81'] }, 'other'), holder({})), '192.0.2.1 @default')
  assert.equal(plan({ ports: ['81'] }, holder({})), '192.0.2.1 @default')
  assert.equal(plan(shares({ ports: ['81'] }), holder({ external: 'Local' })), '192.0.2.1 @default')
  const samePods = { external: 'Local', selector: { app: 'x' } }
  assert.equal(plan(shares({ ports: ['81'], ...samePods }), holder(samePods)), '192.0.2.2 @default')
  const elsewhere = { ...samePods, namespace: 'shop' }
  assert.equal(
    plan(shares({ ports: ['81'], ip: '192.0.2.2', ...samePods }), holder(elsewhere)),
    inUse('shop'),
  )
  assert.equal(plan(shares({ ports: ['80'], ip: '192.0.2.2' }), holder({})), inUse('default'))
  assert.equal(plan(shares({ ports: ['81'], ip: '192.0.2.2' }), holder({})), '192.0.2.2 @default')
})

function inUse(namespace: string): string {
  return `192.0.2.2 is already allocated to service ${namespace}/other`
}

test('an invalid pool is refused with its name and the reason', () => {
  const cases: readonly (readonly [yaml: string, error: RegExp])[] = [
    ['addresses: [', /^pool a: invalid YAML: /],
    ['- x', /^pool a: must be a YAML mapping/],
    ['adresses: [192.0.2.9]', /^pool a: unknown field adresses: use addresses, /],
    ['autoAssign: true', /^pool a: addresses: must have at least one range$/],
    ['addresses: 192.0.2.9', /^pool a: addresses: must be a list of strings$/],
    ['addresses: [192.0.2.300]', /^pool a: invalid address range "192.0.2.300": use /],
    ['addresses: [224.0.0.1]', /^pool a: addresses: 224.0.0.1 is not a unicast address/],
    ['addresses: ["ff02::1"]', /^pool a: addresses: ff02::1 is not a unicast address/],
    ['addresses: [127.0.0.5]', /^pool a: addresses: 127.0.0.5 is not a unicast address/],
    ['addresses: [192.0.2.9]\nautoAssign: "no"', /^pool a: autoAssign: must be true or false$/],
    [
      'addresses: [192.0.2.9]\nserviceSelector: { app: web }',
      /^pool a: serviceSelector: must have matchLabels/,
    ],
    ['addresses: [192.0.2.9]\nserviceSelector: { matchLabels: { app: [] } }', /must be a label selector$/],
    [
      'addresses: [192.0.2.9]\nserviceSelector: { matchExpressions: [{ key: a, operator: Is }] }',
      /^pool a: serviceSelector.matchExpressions\[0\].operator: /,
    ],
    ['addresses: [192.0.2.0/30]', /^pool default: 192.0.2.2 is in a range of pool a too$/],
    [
      'addresses: ["2001:db8::/64", "2001:db8:0:0:1::/80"]',
      /^pool a: 2001:db8:0:0:1:: is in a range of pool a too$/,
    ],
  ]
  for (const [yaml, error] of cases) {
    const ranges = [parseRange('192.0.2.2-192.0.2.3')]
    assert.throws(() => readPools({ metadata: {}, data: { a: yaml } }, ranges), { message: error }, yaml)
  }
  const named = { metadata: {}, data: { default: 'addresses: [192.0.2.9]' } }
  assert.throws(
    () => readPools(named, [parseRange('192.0.2.2')]),
    /^Error: pool default: the name is that of/,
  )
  assert.equal(readPools(named, []).length, 1)
})
