import assert from 'node:assert/strict'
import test from 'node:test'
import type { Service, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp } from '#/api/net/ip.ts'
import { recordTypes, type ResourceRecord } from './dns-message.ts'
import { resolveName, type DnsState } from './records.ts'

function service(key: string, spec: ServiceSpec): Service {
  const [namespace = '', name = ''] = key.split('/')
  return { metadata: { namespace, name }, spec }
}

/** Endpoints are `10.244.0.5`, with `=host` for a hostname and a leading `-` when not ready. */
function slice(key: string, endpoints: string, ports: readonly string[] = ['http/TCP/8080']): EndpointSlice {
  const [namespace = '', name = ''] = key.split('/')
  const texts = endpoints.split(' ')
  return {
    metadata: { namespace, name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: endpoints.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: texts.map(text => {
      const [address = '', hostname] = text.replace(/^-/, '').split('=')
      return {
        addresses: [address],
        conditions: { ready: !text.startsWith('-') },
        ...(hostname && { hostname }),
      }
    }),
    ports: ports.map(text => {
      const [port = '', protocol = '', number] = text.split('/')
      return { name: port, protocol, port: Number(number) }
    }),
  }
}

const none = { clusterIP: 'None', clusterIPs: ['None'] }
const services = [
  service('shop/web', {
    clusterIP: '10.96.0.5',
    clusterIPs: ['10.96.0.5', 'fd00:96::5'],
    ports: [
      { name: 'http', port: 80 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  }),
  service('shop/db', { ...none, ports: [{ name: 'sql', port: 5432 }] }),
  service('shop/empty', none),
  service('shop/quiet', none),
  service('shop/pending', { clusterIP: '' }),
  service('shop/away', { type: 'ExternalName', externalName: 'example.com.' }),
  service('shop/odd', { type: 'ExternalName', externalName: 'x'.repeat(70) }),
]
const slices = [
  slice('shop/web', '10.244.0.9=web-0'),
  slice('shop/db', '10.244.0.5=db-0 10.244.0.6 -10.244.0.7=db-2', ['sql/TCP/5432', 'peer/TCP/7000']),
  slice('shop/db', 'fd00:244::5=db-0', ['sql/TCP/5432']),
  slice('shop/empty', '-10.244.0.8'),
  slice('shop/quiet', '10.244.0.20', []),
]

const world: DnsState = {
  domain: 'cluster.local',
  ttlSeconds: 5,
  pods: 'insecure',
  nameServers: ['10.96.0.10'],
  hasNamespace: name => ['shop', 'default'].includes(name),
  service: (namespace, name) =>
    services.find(({ metadata }) => {
      return metadata.namespace === namespace && metadata.name === name
    }),
  slicesOf: (namespace, name) =>
    slices.filter(({ metadata }) => {
      return metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name
    }),
  servicesAt: address => services.filter(({ spec }) => spec?.clusterIPs?.includes(address)),
  slicesAt: address =>
    slices.filter(({ endpoints }) => endpoints?.some(each => each.addresses.includes(address))),
  hasPodAt: (namespace, address) => namespace === 'shop' && address === '10.244.0.5',
}

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([name, number]) => [number, name]))

/** `A 10.96.0.5`, `SRV 0 50 80 web.shop`: without the cluster domain. */
function show({ type, data }: ResourceRecord): string {
  const shown = data.map(part => {
    if (typeof part === 'string') return part.replace(/\.svc\.cluster\.local$/, '')
    const bytes = Buffer.from(part)
    if (type === recordTypes.A) return formatIp({ family: 4, value: BigInt(`0x${bytes.toString('hex')}`) })
    if (type === recordTypes.AAAA) return formatIp({ family: 6, value: BigInt(`0x${bytes.toString('hex')}`) })
    if (type === recordTypes.TXT) return JSON.stringify(bytes.subarray(1).toString())
    return bytes.length === 6 ? [0, 2, 4].map(at => bytes.readUInt16BE(at)).join(' ') : ''
  })
  return [typeNames.get(type), ...shown].join(' ').trim()
}

function resolve(type: keyof typeof recordTypes, name: string): string {
  const resolution = resolveName({ name, type: recordTypes[type], class: 1 }, world)
  if (resolution.is === 'alias') return `${show(resolution.answer)} -> ${resolution.target}`
  if (resolution.is !== 'found') return resolution.is
  const { answers, additionals = [] } = resolution
  assert(answers.every(answer => answer.name === name && answer.ttlSeconds === 5))
  return [
    ...answers.map(show),
    ...additionals.map(record => `+ ${record.name.split('.')[0]} ${show(record)}`),
  ].join('; ')
}

type Case = readonly [type: keyof typeof recordTypes, name: string, expected: string]

function check(cases: readonly Case[], suffix = ''): void {
  for (const [type, name, expected] of cases)
    assert.equal(resolve(type, `${name}${suffix}`), expected, `${type} ${name}`)
}

test('DNS records of services and their endpoints', () => {
  check(
    [
      ['A', 'web.shop', 'A 10.96.0.5'],
      ['A', 'WEB.Shop', 'A 10.96.0.5'],
      ['AAAA', 'web.shop', 'AAAA fd00:96::5'],
      ['TXT', 'web.shop', ''],
      ['ANY', 'web.shop', 'A 10.96.0.5; AAAA fd00:96::5'],
      ['A', 'pending.shop', ''],
      ['A', 'other.shop', 'missing'],
      ['A', 'web.default', 'missing'],
      ['A', 'web.nowhere', 'missing'],
      ['A', 'db.shop', 'A 10.244.0.5; A 10.244.0.6'],
      ['AAAA', 'db.shop', 'AAAA fd00:244::5'],
      ['A', 'db-0.db.shop', 'A 10.244.0.5'],
      ['AAAA', 'db-0.db.shop', 'AAAA fd00:244::5'],
      ['A', '10-244-0-6.db.shop', 'A 10.244.0.6'],
      ['AAAA', '10-244-0-6.db.shop', ''],
      ['A', 'db-2.db.shop', 'missing'],
      ['A', '10-244-0-5.db.shop', 'missing'],
      ['A', 'a.db-0.db.shop', 'missing'],
      ['A', 'web-0.web.shop', 'A 10.244.0.9'],
      ['A', 'empty.shop', 'missing'],
      ['A', 'quiet.shop', 'A 10.244.0.20'],
      ['SRV', 'quiet.shop', ''],
      ['A', 'a.b.c.web.shop', 'missing'],
    ],
    '.svc.cluster.local',
  )
})

test('SRV records of service ports', () => {
  check(
    [
      ['SRV', '_http._tcp.web.shop', 'SRV 0 100 80 web.shop; + web A 10.96.0.5; + web AAAA fd00:96::5'],
      ['SRV', '_dns._udp.web.shop', 'SRV 0 100 53 web.shop; + web A 10.96.0.5; + web AAAA fd00:96::5'],
      ['SRV', '_dns._tcp.web.shop', 'missing'],
      ['SRV', '_none._tcp.web.shop', 'missing'],
      ['A', '_http._tcp.web.shop', 'A 10.96.0.5'],
      ['SRV', '_tcp.web.shop', ''],
      ['SRV', '_sctp.web.shop', 'missing'],
      [
        'SRV',
        'web.shop',
        'SRV 0 50 80 web.shop; SRV 0 50 53 web.shop; + web A 10.96.0.5; + web AAAA fd00:96::5',
      ],
      [
        'SRV',
        '_sql._tcp.db.shop',
        'SRV 0 50 5432 db-0.db.shop; SRV 0 50 5432 10-244-0-6.db.shop; ' +
          '+ db-0 A 10.244.0.5; + 10-244-0-6 A 10.244.0.6; + db-0 AAAA fd00:244::5',
      ],
      [
        'SRV',
        '_peer._tcp.db.shop',
        'SRV 0 50 7000 db-0.db.shop; SRV 0 50 7000 10-244-0-6.db.shop; + db-0 A 10.244.0.5; + 10-244-0-6 A 10.244.0.6',
      ],
      ['SRV', '_sql._tcp.empty.shop', 'missing'],
    ],
    '.svc.cluster.local',
  )
})

test('CNAME records of ExternalName services', () => {
  check(
    [
      ['A', 'away.shop', 'CNAME example.com -> example.com'],
      ['SRV', 'away.shop', 'CNAME example.com -> example.com'],
      ['CNAME', 'away.shop', 'CNAME example.com'],
      ['ANY', 'away.shop', 'CNAME example.com'],
      ['A', 'x.away.shop', 'missing'],
      // The API accepts external names that are not valid in DNS.
      ['A', 'odd.shop', ''],
    ],
    '.svc.cluster.local',
  )
})

test('DNS names of pods, namespaces and empty non-terminals', () => {
  check([
    ['A', '10-244-0-5.shop.pod.cluster.local', 'A 10.244.0.5'],
    ['AAAA', '10-244-0-5.shop.pod.cluster.local', ''],
    ['AAAA', 'fd00-244--5.shop.pod.cluster.local', 'AAAA fd00:244::5'],
    ['A', '10-244-0-5.nowhere.pod.cluster.local', 'missing'],
    ['A', '10-244-0-500.shop.pod.cluster.local', 'missing'],
    ['A', 'a.10-244-0-5.shop.pod.cluster.local', 'missing'],
    ['A', 'shop.pod.cluster.local', ''],
    ['A', 'nowhere.pod.cluster.local', 'missing'],
    ['A', 'pod.cluster.local', ''],
    ['A', 'shop.svc.cluster.local', ''],
    ['A', 'nowhere.svc.cluster.local', 'missing'],
    ['A', 'svc.cluster.local', ''],
    ['A', 'cluster.local', ''],
    ['A', 'node.cluster.local', 'missing'],
    ['TXT', 'dns-version.cluster.local', 'TXT "1.1.0"'],
    ['A', 'dns-version.cluster.local', ''],
    ['A', 'x.dns-version.cluster.local', 'missing'],
    ['A', 'ns.dns.cluster.local', 'A 10.96.0.10'],
    ['A', 'dns.cluster.local', ''],
    ['A', 'x.dns.cluster.local', 'missing'],
    ['NS', 'cluster.local', 'NS ns.dns.cluster.local; + ns A 10.96.0.10'],
  ])
})

test('names outside the cluster domain', () => {
  check([
    ['A', 'example.com', 'foreign'],
    ['A', '', 'foreign'],
    ['A', 'web.shop', 'foreign'],
    ['A', 'xcluster.local', 'foreign'],
    ['A', 'web.shop.svc.cluster.local.example.com', 'foreign'],
    ['PTR', '1.2.3.in-addr.arpa', 'foreign'],
    ['PTR', '1.2.3.300.in-addr.arpa', 'foreign'],
    ['PTR', '9.9.9.9.in-addr.arpa', 'foreign'],
  ])
})

test('PTR records', () => {
  const ipv6 = (ending: string): string => {
    return `${ending.padStart(4, '0').split('').toReversed().join('.')}.${'0.'.repeat(20)}6.9.0.0.0.0.d.f.ip6.arpa`
  }
  check([
    ['PTR', '5.0.96.10.in-addr.arpa', 'PTR web.shop'],
    ['PTR', ipv6('5'), 'PTR web.shop'],
    ['PTR', '5.0.244.10.in-addr.arpa', 'PTR db-0.db.shop'],
    ['PTR', '6.0.244.10.in-addr.arpa', 'PTR 10-244-0-6.db.shop'],
    ['PTR', '7.0.244.10.in-addr.arpa', 'foreign'],
    ['A', '5.0.96.10.in-addr.arpa', ''],
    ['ANY', '5.0.96.10.in-addr.arpa', 'PTR web.shop'],
  ])
})

test('the SOA record has the negative TTL', () => {
  const apex = resolveName({ name: 'cluster.local', type: recordTypes.SOA, class: 1 }, world)
  assert(apex.is === 'found')
  const [{ name, type, ttlSeconds, data } = assert.fail()] = apex.answers
  assert.deepEqual(
    [name, type, ttlSeconds, data.slice(0, 2)],
    ['cluster.local', recordTypes.SOA, 5, ['ns.dns.cluster.local', 'hostmaster.cluster.local']],
  )
  assert.equal(Buffer.from(data[2] as Uint8Array).readUInt32BE(16), 5)
})

test('names of pods can be verified or disabled', () => {
  const ask = (pods: DnsState['pods'], name: string): string => {
    const question = { name: `${name}.pod.cluster.local`, type: recordTypes.A, class: 1 }
    return resolveName(question, { ...world, pods }).is
  }
  assert.equal(ask('verified', '10-244-0-5.shop'), 'found')
  assert.equal(ask('verified', '10-244-0-6.shop'), 'missing')
  assert.equal(ask('verified', '10-244-0-5.default'), 'missing')
  assert.equal(ask('insecure', '10-244-0-6.shop'), 'found')
  assert.equal(ask('disabled', '10-244-0-5.shop'), 'missing')
})
