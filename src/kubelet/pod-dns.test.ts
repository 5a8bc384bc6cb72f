import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { podDns, type PodDns } from './pod-dns.ts'

const node = {
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: '/etc/resolv.conf',
  addresses: ['192.168.0.7'],
}
const host = `# the node's own
domain ignored
nameserver 1.1.1.1
nameserver 2.2.2.2
search old.example
search home. office . cluster.local
options timeout:1 rotate
options timeout:3
`

function dns(spec: Partial<PodSpec>, settings: Partial<typeof node> = {}, text = host): PodDns {
  const pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u' }, spec: { containers: [], ...spec } }
  return podDns(pod, { ...node, ...settings }, text)
}

/** `servers | searches | options`. */
function notation({ config: { servers, searches, options } }: PodDns): string {
  return [servers, searches, options].map(texts => texts.join(' ')).join(' | ')
}

const cluster = 'shop.svc.cluster.local svc.cluster.local cluster.local'
const inCluster = `10.96.0.10 | ${cluster} home office | ndots:5`
const onHost = '1.1.1.1 2.2.2.2 | home office cluster.local | timeout:3 rotate'

test('dnsPolicy selects the name servers of a pod', () => {
  const cases: readonly (readonly [Partial<PodSpec>, string])[] = [
    [{}, inCluster],
    [{ dnsPolicy: 'ClusterFirst' }, inCluster],
    [{ dnsPolicy: 'ClusterFirst', hostNetwork: true }, onHost],
    [{ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, inCluster],
    [{ dnsPolicy: 'Default' }, onHost],
    [{ dnsPolicy: 'None' }, ' |  | '],
    [{ dnsPolicy: 'None', dnsConfig: { nameservers: ['9.9.9.9'], searches: ['a.b'] } }, '9.9.9.9 | a.b | '],
  ]
  for (const [spec, expected] of cases) assert.equal(notation(dns(spec)), expected, JSON.stringify(spec))
})

test('dnsConfig is merged, and its options win', () => {
  const dnsConfig = {
    nameservers: ['10.96.0.10', '9.9.9.9'],
    searches: ['home', 'extra'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  }
  const expected = `10.96.0.10 9.9.9.9 | ${cluster} home office extra | ndots:2 edns0`
  assert.equal(notation(dns({ dnsConfig })), expected)
  const onNode = dns({
    dnsPolicy: 'Default',
    dnsConfig: { options: [{ name: 'rotate' }, { name: 'timeout', value: '9' }] },
  })
  assert.deepEqual(onNode.config.options, ['timeout:9', 'rotate'])
})

test('ClusterFirst without cluster DNS falls back to the node with an event', () => {
  const found = dns({}, { clusterDNS: [] })
  assert.equal(notation(found), onHost)
  assert.deepEqual(found.warnings, [
    {
      reason: 'MissingClusterDNS',
      message:
        'pod: "web_shop(u)". kubelet does not have ClusterDNS IP configured and cannot create Pod using ' +
        '"ClusterFirst" policy. Falling back to "Default" policy.',
    },
  ])
  assert.deepEqual(dns({ dnsPolicy: 'Default' }, { clusterDNS: [] }).warnings, [])
})

test('without a resolv.conf of the node a pod has no name servers', () => {
  const settings = { resolvConf: '', addresses: ['192.168.0.7', 'fd00::7'] }
  assert.equal(notation(dns({ dnsPolicy: 'Default' }, settings, '')), '127.0.0.1 ::1 | . | ')
  assert.equal(
    notation(dns({ dnsPolicy: 'Default' }, { ...settings, addresses: [] }, '')),
    '127.0.0.1 | . | ',
  )
})

test('name servers and search domains over the limits are dropped with an event', () => {
  const servers = dns({ dnsConfig: { nameservers: ['1.0.0.1', '1.0.0.2', '1.0.0.3'] } })
  assert.deepEqual(servers.config.servers, ['10.96.0.10', '1.0.0.1', '1.0.0.2'])
  assert.deepEqual(servers.warnings, [
    {
      reason: 'DNSConfigForming',
      message:
        'Nameserver limits were exceeded, some nameservers have been omitted, ' +
        'the applied nameserver line is: 10.96.0.10 1.0.0.1 1.0.0.2',
    },
  ])
  const many = Array.from({ length: 40 }, (_, index) => `d${index}`)
  const counted = dns({ dnsPolicy: 'None', dnsConfig: { searches: many } })
  assert.equal(counted.config.searches.length, 32)
  assert.match(counted.warnings[0]?.message ?? '', /^Search Line limits were exceeded, .*: d0 d1 .* d31$/)
  const long = Array.from({ length: 10 }, (_, index) => `${index}${'x'.repeat(240)}`)
  const cut = dns({ dnsPolicy: 'None', dnsConfig: { searches: long } })
  assert.equal(cut.config.searches.length, 8)
  assert.ok(cut.config.searches.join(' ').length <= 2048)
  const single = dns({ dnsPolicy: 'None', dnsConfig: { searches: ['a', 'y'.repeat(254), 'b'] } })
  assert.deepEqual(single.config.searches, ['a', 'b'])
  assert.equal(single.warnings.length, 1)
})
