import assert from 'node:assert/strict'
import test from 'node:test'
import type { Service, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { Linux } from '#/platform/linux.ts'
import { Simulation } from '#/platform/simulated.ts'
import { removeNftablesTables, staleMs } from '#/nftables/nftables-tables.ts'
import { NftablesRules } from './nftables.ts'
import type { ProxyNetwork } from './proxier.ts'
import { planService } from './plan.ts'
import { service, slice } from './test-services.ts'

const network: ProxyNetwork = {
  table: 'k8ts0-proxy',
  families: [4],
  podCidrs: ['10.244.0.0/16'],
  serviceCidrs: ['10.96.0.0/16'],
  nodeAddresses: ['10.214.0.1'],
  foreignAddresses: ['10.214.0.0/20'],
}

/** A fake kernel: records transactions, and rejects the next one when `refuses` is set. */
class Transactions implements Pick<Linux, 'run'> {
  readonly texts: string[] = []
  sets = '{"nftables": []}'
  refuses = false

  async run(command: readonly string[], options: { readonly stdin?: string } = {}): Promise<string> {
    if (command.includes('list')) return this.sets
    if (this.refuses) {
      this.refuses = false
      throw new Error('No such file or directory')
    }
    this.texts.push(options.stdin ?? '')
    return ''
  }

  take(): string {
    return this.texts.splice(0).join('---\n')
  }
}

class World {
  readonly kernel = new Transactions()
  readonly rules: NftablesRules
  nowMs = 0

  constructor(more: Partial<ProxyNetwork> = {}) {
    const { log } = new Simulation({ seed: 1 }).host('node')
    this.rules = new NftablesRules({ linux: this.kernel, log, network: { ...network, ...more } })
  }

  /** Returns the transaction for a change of a service; endpoints in the notation of `slice`. */
  async change(of: Service | undefined, ...endpoints: string[]): Promise<string> {
    this.set('shop/web', of, endpoints)
    return this.apply()
  }

  set(key: string, of: Service | undefined, endpoints: readonly string[]): void {
    const slices = [
      slice(endpoints.filter(each => !each.includes(':'))),
      slice(endpoints.filter(each => each.includes(':'))),
    ]
    const node = { name: 'a', zone: '' }
    this.rules.set(key, of ? planService({ service: of, slices, node, families: [4, 6] }).ports : [])
  }

  async apply(): Promise<string> {
    await this.rules.apply(this.nowMs, new AbortController().signal)
    return this.kernel.take()
  }
}

/** The lines of a table without their common prefix. */
function lines(text: string, family = 'ip'): readonly string[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.replace(`${family} k8ts0-proxy `, ''))
}

const plainBase = `
add table ip k8ts0-proxy
delete table ip k8ts0-proxy
add table { comment "k8ts: services" ; }
add chain filter-prerouting-early { type filter hook prerouting priority -110 ; }
add chain filter-output-early { type filter hook output priority -110 ; }
add chain filter-input { type filter hook input priority 0 ; }
add chain filter-forward { type filter hook forward priority 0 ; }
add chain filter-output { type filter hook output priority 0 ; }
add chain nat-prerouting { type nat hook prerouting priority -100 ; }
add chain nat-output { type nat hook output priority -100 ; }
add chain nat-postrouting { type nat hook postrouting priority 100 ; }
add chain services
add chain firewall-check
add chain service-endpoints-check
add chain nodeport-endpoints-check
add chain cluster-ips-check
add chain reject-all
add set cluster-ips { type ipv4_addr ; }
add set hairpin-connections { type ipv4_addr . ipv4_addr . inet_proto . inet_service ; }
add map service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add map no-endpoint-services { type ipv4_addr . inet_proto . inet_service : verdict ; }
add map firewall-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add map service-nodeports { type inet_proto . inet_service : verdict ; }
add map no-endpoint-nodeports { type inet_proto . inet_service : verdict ; }
add rule filter-prerouting-early iif != lo ip daddr 127.0.0.0/8 drop
add rule filter-prerouting-early ct state new jump firewall-check
add rule filter-output-early ct state new jump firewall-check
add rule filter-input ct state new jump nodeport-endpoints-check
add rule filter-input ct state new jump service-endpoints-check
add rule filter-forward ct state new jump service-endpoints-check
add rule filter-forward ct state new jump cluster-ips-check
add rule filter-output ct state new jump service-endpoints-check
add rule filter-output ct state new jump cluster-ips-check
add rule nat-prerouting jump services
add rule nat-output jump services
add rule nat-postrouting mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random
add rule nat-postrouting ct status dnat ip saddr . TO @hairpin-connections masquerade fully-random
add rule reject-all meta l4proto tcp reject with tcp reset
add rule reject-all reject
add rule firewall-check TO vmap @firewall-ips
add rule service-endpoints-check TO vmap @no-endpoint-services
add rule nodeport-endpoints-check OWN meta l4proto . th dport vmap @no-endpoint-nodeports
add rule nodeport-endpoints-check OTHERS meta l4proto . th dport vmap @no-endpoint-nodeports
add rule cluster-ips-check ip daddr @cluster-ips goto reject-all
add rule cluster-ips-check ip daddr { 10.96.0.0/16 } drop
add rule services ip daddr @cluster-ips ip saddr != { 10.244.0.0/16 } mark set mark or 0x4000
add rule services TO vmap @service-ips
add rule services OWN meta l4proto . th dport vmap @service-nodeports
add rule services OTHERS meta l4proto . th dport vmap @service-nodeports
`
const base = plainBase
  .replaceAll('TO ', 'ip daddr . meta l4proto . th dport ')
  .replaceAll('OWN', 'ip daddr { 10.214.0.1 }')
  .replaceAll('OTHERS', 'fib daddr type local ip daddr != { 127.0.0.0/8, 10.214.0.0/20 }')
  .trim()
  .split('\n')

test('the first nftables transaction replaces the table with the rules of all services', async () => {
  const world = new World()
  assert.deepEqual(lines(await world.change(service({}), '10.244.0.1@a')), [
    ...base,
    'add chain cluster/shop/web/tcp/http',
    'add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to 10.244.0.1:8080',
    'add element cluster-ips { 10.96.0.5 }',
    'add element service-ips { 10.96.0.5 . tcp . 80 : goto cluster/shop/web/tcp/http }',
    'add element hairpin-connections { 10.244.0.1 . 10.244.0.1 . tcp . 8080 }',
  ])
})

test('only changed nftables rules are written, in one transaction', async () => {
  const world = new World()
  await world.change(undefined)
  const cases: readonly (readonly [
    endpoints: readonly string[],
    spec: ServiceSpec,
    expected: readonly string[],
  ])[] = [
    [
      [],
      {},
      [
        'add element cluster-ips { 10.96.0.5 }',
        'add element no-endpoint-services { 10.96.0.5 . tcp . 80 : goto reject-all }',
      ],
    ],
    [
      ['10.244.0.1@b'],
      {},
      [
        'add chain cluster/shop/web/tcp/http',
        'add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to 10.244.0.1:8080',
        'delete element no-endpoint-services { 10.96.0.5 . tcp . 80 }',
        'add element service-ips { 10.96.0.5 . tcp . 80 : goto cluster/shop/web/tcp/http }',
      ],
    ],
    [['10.244.0.1@b'], {}, []],
    [['10.244.0.1@b', '10.244.0.2@b unready'], {}, []],
    [
      ['10.244.0.2@b', '10.244.0.1@b'],
      {},
      [
        'flush chain cluster/shop/web/tcp/http',
        'add rule cluster/shop/web/tcp/http meta l4proto tcp numgen random mod 2 0 dnat to 10.244.0.1:8080',
        'add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to 10.244.0.2:8080',
      ],
    ],
    [
      ['10.244.0.2@b', '10.244.0.1@b'],
      { ports: [{ name: 'http', port: 81 }] },
      [
        'delete element service-ips { 10.96.0.5 . tcp . 80 }',
        'add element service-ips { 10.96.0.5 . tcp . 81 : goto cluster/shop/web/tcp/http }',
      ],
    ],
    [
      [],
      { ports: [{ name: 'http', port: 81 }] },
      [
        'flush chain cluster/shop/web/tcp/http',
        'delete element service-ips { 10.96.0.5 . tcp . 81 }',
        'add element no-endpoint-services { 10.96.0.5 . tcp . 81 : goto reject-all }',
      ],
    ],
  ]
  for (const [endpoints, spec, expected] of cases) {
    assert.deepEqual(
      lines(await world.change(service(spec), ...endpoints)),
      expected,
      JSON.stringify(endpoints),
    )
  }
})

test('many endpoints are selected by one verdict map, few by a rule each', async () => {
  const world = new World()
  await world.change(undefined)
  const endpoints = Array.from({ length: 17 }, (_, index) => `10.244.0.${100 + index}@b`)
  const rulesOf = async (spec: ServiceSpec, count: number): Promise<readonly string[]> => {
    const written = lines(await world.change(service(spec), ...endpoints.slice(0, count)))
    return written.filter(line => line.startsWith('add rule cluster/') && line.includes('numgen'))
  }
  assert.deepEqual(
    (await rulesOf({}, 16)).map(rule =>
      /mod (\d+) 0 dnat to 10\.244\.0\.(\d+):8080$/.exec(rule)?.slice(1).join(' '),
    ),
    Array.from({ length: 15 }, (_, index) => `${16 - index} ${100 + index}`),
  )
  const [map, ...others] = await rulesOf({}, 17)
  assert.match(
    map ?? '',
    /dnat ip addr \. port to numgen random mod 17 map { 0 : 10\.244\.0\.100 \. 8080, 1 : /,
  )
  assert.deepEqual(others, [])
  const [verdicts] = await rulesOf(remembering, 17)
  assert.match(
    verdicts ?? '',
    /numgen random mod 17 vmap { 0 : goto endpoint\/shop\/web\/tcp\/http\/10\.244\.0\.100\/8080, /,
  )
})

test('an unused chain is deleted later, unless it is used again', async () => {
  const world = new World()
  await world.change(service({}), '10.244.0.1@b')
  await world.change(service({}))
  assert(world.rules.nextApplyMs !== undefined)
  assert.equal(await world.apply(), '')
  world.nowMs = staleMs
  assert.deepEqual(lines(await world.apply()), ['delete chain cluster/shop/web/tcp/http'])
  assert.equal(world.rules.nextApplyMs, undefined)
  await world.change(service({}), '10.244.0.1@b')
  await world.change(service({}))
  world.nowMs = 2 * staleMs
  assert.deepEqual(lines(await world.change(service({}), '10.244.0.2@b')).slice(0, 2), [
    'add chain cluster/shop/web/tcp/http',
    'add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to 10.244.0.2:8080',
  ])
  assert.equal(world.rules.nextApplyMs, undefined)
})

test('external traffic is masqueraded to any endpoint, or keeps its source for local endpoints', async () => {
  const world = new World()
  await world.change(undefined)
  const ports = [{ name: 'http', port: 80, nodePort: 30080 }]
  const spec = { type: 'LoadBalancer', ports, loadBalancerSourceRanges: ['10.0.0.0/8', '203.0.113.0/24'] }
  const written = await world.change(service(spec, ['192.0.2.20']), '10.244.1.1@b')
  assert.deepEqual(
    lines(written).filter(line => /external|firewall/.test(line)),
    [
      'add chain external/shop/web/tcp/http',
      'add chain firewall/shop/web/tcp/http',
      'add rule external/shop/web/tcp/http mark set mark or 0x4000',
      'add rule external/shop/web/tcp/http goto cluster/shop/web/tcp/http',
      'add rule firewall/shop/web/tcp/http ip saddr != { 10.0.0.0/8, 203.0.113.0/24, 192.0.2.20 } drop',
      'add element service-ips { 10.96.0.5 . tcp . 80 : goto cluster/shop/web/tcp/http, ' +
        '192.0.2.20 . tcp . 80 : goto external/shop/web/tcp/http }',
      'add element service-nodeports { tcp . 30080 : goto external/shop/web/tcp/http }',
      'add element firewall-ips { 192.0.2.20 . tcp . 80 : goto firewall/shop/web/tcp/http }',
    ],
  )
  const local = { ...spec, externalTrafficPolicy: 'Local' }
  assert.deepEqual(lines(await world.change(service(local, ['192.0.2.20']), '10.244.1.1@b')), [
    'flush chain external/shop/web/tcp/http',
    'add rule external/shop/web/tcp/http ip saddr { 10.244.0.0/16 } goto cluster/shop/web/tcp/http',
    'add rule external/shop/web/tcp/http fib saddr type local mark set mark or 0x4000',
    'add rule external/shop/web/tcp/http fib saddr type local goto cluster/shop/web/tcp/http',
    'add element no-endpoint-services { 192.0.2.20 . tcp . 80 : drop }',
    'add element no-endpoint-nodeports { tcp . 30080 : drop }',
  ])
  assert.deepEqual(lines(await world.change(service(local, ['192.0.2.20']), '10.244.1.1@a')).slice(0, 8), [
    'add chain local/shop/web/tcp/http',
    'flush chain external/shop/web/tcp/http',
    'add rule external/shop/web/tcp/http ip saddr { 10.244.0.0/16 } goto cluster/shop/web/tcp/http',
    'add rule external/shop/web/tcp/http fib saddr type local mark set mark or 0x4000',
    'add rule external/shop/web/tcp/http fib saddr type local goto cluster/shop/web/tcp/http',
    'add rule external/shop/web/tcp/http goto local/shop/web/tcp/http',
    'add rule local/shop/web/tcp/http meta l4proto tcp dnat to 10.244.1.1:8080',
    'delete element no-endpoint-services { 192.0.2.20 . tcp . 80 }',
  ])
})

const remembering: ServiceSpec = {
  sessionAffinity: 'ClientIP',
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
}

test('affinity sets are added and removed with their endpoints', async () => {
  const world = new World()
  await world.change(undefined)
  const first = lines(await world.change(service(remembering), '10.244.1.1@b', '10.244.1.2@b'))
  const of = (end: string): string => `shop/web/tcp/http/10.244.1.${end}/8080`
  assert.deepEqual(first.slice(0, 13), [
    'add chain cluster/shop/web/tcp/http',
    `add chain endpoint/${of('1')}`,
    `add chain endpoint/${of('2')}`,
    `add set affinity/${of('1')} { type ipv4_addr ; flags dynamic,timeout ; }`,
    `add set affinity/${of('2')} { type ipv4_addr ; flags dynamic,timeout ; }`,
    `add rule cluster/shop/web/tcp/http ip saddr @affinity/${of('1')} goto endpoint/${of('1')}`,
    `add rule cluster/shop/web/tcp/http ip saddr @affinity/${of('2')} goto endpoint/${of('2')}`,
    `add rule cluster/shop/web/tcp/http numgen random mod 2 0 goto endpoint/${of('1')}`,
    `add rule cluster/shop/web/tcp/http goto endpoint/${of('2')}`,
    `add rule endpoint/${of('1')} update @affinity/${of('1')} { ip saddr timeout 60s }`,
    `add rule endpoint/${of('1')} meta l4proto tcp dnat to 10.244.1.1:8080`,
    `add rule endpoint/${of('2')} update @affinity/${of('2')} { ip saddr timeout 60s }`,
    `add rule endpoint/${of('2')} meta l4proto tcp dnat to 10.244.1.2:8080`,
  ])
  assert.deepEqual(lines(await world.change(service(remembering), '10.244.1.1@b')), [
    'flush chain cluster/shop/web/tcp/http',
    `add rule cluster/shop/web/tcp/http ip saddr @affinity/${of('1')} goto endpoint/${of('1')}`,
    `add rule cluster/shop/web/tcp/http goto endpoint/${of('1')}`,
    `flush chain endpoint/${of('2')}`,
    `delete set affinity/${of('2')}`,
  ])
})

test('affinity entries are carried over into a new table', async () => {
  const world = new World()
  const listed = (table: string, end: string, elem: readonly unknown[]): unknown => {
    return { set: { table, name: `affinity/shop/web/tcp/http/10.244.1.${end}/8080`, elem } }
  }
  const client = (val: string): unknown => ({ elem: { val, timeout: 60, expires: 41 } })
  const nftables = [
    { metainfo: {} },
    listed('k8ts0-proxy', '1', [client('10.9.9.9'), 'odd', { elem: { val: '10.9.9.8' } }]),
    listed('k8ts0-proxy', '7', [client('10.9.9.7')]),
    listed('k8ts1-proxy', '1', [client('10.9.9.6')]),
  ]
  world.kernel.sets = JSON.stringify({ nftables })
  assert.deepEqual(
    lines(await world.change(service(remembering), '10.244.1.1@b')).at(-1),
    'add element affinity/shop/web/tcp/http/10.244.1.1/8080 { 10.9.9.9 timeout 60s expires 41s }',
  )
})

test('a modified table is rewritten together with the pending changes', async () => {
  const world = new World()
  await world.change(service({}), '10.244.0.1@b')
  world.kernel.refuses = true
  const written = lines(await world.change(service({}), '10.244.0.2@b'))
  assert.deepEqual(written.slice(0, 2), ['add table ip k8ts0-proxy', 'delete table ip k8ts0-proxy'])
  assert(written.includes('add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to 10.244.0.2:8080'))
  assert.deepEqual(lines(await world.change(undefined)).length, 3)
})

test('conflicting service addresses belong to the first service by name', async () => {
  const world = new World()
  await world.change(undefined)
  const other = (clusterIP: string, name: string): Service => {
    const made = service({ clusterIP, clusterIPs: [clusterIP], externalIPs: ['192.0.2.9'] })
    return { ...made, metadata: { namespace: 'shop', name } }
  }
  const external = (text: string): readonly string[] => {
    return (text.match(/192\.0\.2\.9 \. tcp \. 80[^,}]*/g) ?? []).map(found => found.trim())
  }
  world.set('shop/b', other('10.96.0.2', 'b'), ['10.244.0.1@b'])
  assert.deepEqual(external(await world.apply()), ['192.0.2.9 . tcp . 80 : goto external/shop/b/tcp/http'])
  world.set('shop/a', other('10.96.0.1', 'a'), ['10.244.0.1@b'])
  world.set('shop/c', other('10.96.0.3', 'c'), ['10.244.0.1@b'])
  assert.deepEqual(external(await world.apply()), [
    '192.0.2.9 . tcp . 80',
    '192.0.2.9 . tcp . 80 : goto external/shop/a/tcp/http',
  ])
  world.set('shop/a', undefined, [])
  assert.deepEqual(external(await world.apply()), [
    '192.0.2.9 . tcp . 80',
    '192.0.2.9 . tcp . 80 : goto external/shop/b/tcp/http',
  ])
})

test('IPv4 and IPv6 tables are written in one transaction', async () => {
  const world = new World({ families: [4, 6], podCidrs: ['10.244.0.0/16', 'fd00:244::/48'] })
  const both = service({ clusterIPs: ['10.96.0.5', 'fd00:96::5'] })
  await world.change(undefined)
  const written = await world.change(both, '10.244.0.1@b', 'fd00:244::1@b', 'fd00:244::2@b')
  assert.deepEqual(lines(lines(written).join('\n'), 'ip6').slice(4), [
    'add chain cluster/shop/web/tcp/http',
    'add rule cluster/shop/web/tcp/http meta l4proto tcp numgen random mod 2 0 dnat to [fd00:244::1]:8080',
    'add rule cluster/shop/web/tcp/http meta l4proto tcp dnat to [fd00:244::2]:8080',
    'add element cluster-ips { fd00:96::5 }',
    'add element service-ips { fd00:96::5 . tcp . 80 : goto cluster/shop/web/tcp/http }',
  ])
  await removeNftablesTables(world.kernel, 'k8ts0-proxy')
  assert.equal(
    world.kernel.take(),
    ['ip', 'ip6']
      .map(family => `add table ${family} k8ts0-proxy\ndelete table ${family} k8ts0-proxy\n`)
      .join(''),
  )
})
