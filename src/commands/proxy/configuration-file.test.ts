import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planConntrackSysctls } from '#/proxy/conntrack-sysctls.ts'
import { parseServerAddress, readProxyConfiguration, type ProxySettings } from './configuration-file.ts'

const header = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n'

test('the fields of a KubeProxyConfiguration', () => {
  const check = (yaml: string, expected: Partial<ProxySettings>): void => {
    assert.deepEqual(readProxyConfiguration(header + yaml), { settings: expected, warnings: [] }, yaml)
  }
  for (const mode of ['nftables', 'iptables', 'userspace'] as const) check(`mode: ${mode}`, { mode })
  check('mode: ""', {})
  check('clusterCIDR: 10.244.0.0/16,fd00::/48', { podCidrs: ['10.244.0.0/16', 'fd00::/48'] })
  check('detectLocalMode: ClusterCIDR', {})
  check('detectLocalMode: NodeCIDR', { detectsLocalByNode: true })
  check('nodePortAddresses: [10.0.0.0/8]', { nodePortAddresses: ['10.0.0.0/8'] })
  check('nodePortAddresses: [primary]', { nodePortAddresses: [] })
  check('hostnameOverride: n1', { hostname: 'n1' })
  check('healthzBindAddress: 0.0.0.0:10356\nmetricsBindAddress: "[::1]:0"', {
    health: { host: '0.0.0.0', port: 10_356 },
    metrics: { host: '::1', port: 0 },
  })
  check('clientConnection: {kubeconfig: /k.conf, qps: 2.5, burst: 7}', {
    kubeconfig: '/k.conf',
    requestsPerSecond: 2.5,
    requestsBurst: 7,
  })
  check('conntrack: {maxPerCore: 1000, min: null, tcpEstablishedTimeout: 1h, tcpBeLiberal: true}', {
    conntrack: { maxPerCore: 1_000, tcpEstablishedMs: 3_600_000, tcpBeLiberal: true },
  })
})

test('unknown, unsupported and wrong fields are errors with their path', () => {
  const check = (yaml: string, message: string): void => {
    assert.throws(() => readProxyConfiguration(header + yaml), { name: 'UsageError', message })
  }
  check('conntrack: {max: 5}', 'unknown field conntrack.max')
  check(
    'mode: ipvs',
    'mode: ipvs is not supported, upstream deprecates it in favor of nftables: ' +
      'must be nftables, iptables, userspace',
  )
  check('mode: ebpf', 'mode: must be nftables, iptables, userspace, not ebpf')
  check(
    'detectLocalMode: BridgeInterface',
    'detectLocalMode: must be "ClusterCIDR" or "NodeCIDR": pods are known by their addresses',
  )
  check(
    'nftables: {masqueradeAll: true}',
    'nftables.masqueradeAll: must be false: packets are masqueraded only where their source would be lost',
  )
  check('clusterCIDR: 10.244.0.0', 'clusterCIDR: 10.244.0.0 is not a CIDR')
  check(
    'healthzBindAddress: here',
    'healthzBindAddress: must be an address with a port, such as 0.0.0.0:10256',
  )
})

test('the file that kubeadm writes is accepted', () => {
  const { settings, warnings } = readProxyConfiguration(writtenByKubeadm)
  assert.deepEqual(warnings, [])
  assert.deepEqual(settings, {
    podCidrs: ['10.244.0.0/16'],
    kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf',
    conntrack: { tcpBeLiberal: false },
  })
})

test('addresses of servers', () => {
  const check = (given: string, host: string, port: number): void => {
    assert.deepEqual(parseServerAddress(given, 1), { host, port })
  }
  check('192.0.2.1', '192.0.2.1', 1)
  check('192.0.2.1:0', '192.0.2.1', 0)
  check('::1', '::1', 1)
  check('[::1]:10256', '::1', 10_256)
  for (const wrong of ['host:1', '192.0.2.1:x', '192.0.2.1:99999', ''])
    assert.throws(() => parseServerAddress(wrong, 1), { name: 'UsageError' })
})

test('settings of connection tracking become sysctls', () => {
  const check = (given: Parameters<typeof planConntrackSysctls>[0], expected: object): void => {
    assert.deepEqual(planConntrackSysctls(given, 4), expected)
  }
  const name = (last: string): string => `net/netfilter/nf_conntrack_${last}`
  check({}, {})
  check({ maxPerCore: 32_768, min: 131_073 }, { [name('max')]: 131_073 })
  check({ maxPerCore: 0, min: 5 }, {})
  check(
    { tcpEstablishedMs: 1_500, tcpBeLiberal: true },
    {
      [name('tcp_timeout_established')]: 2,
      [name('tcp_be_liberal')]: 1,
    },
  )
  check(
    { udpMs: 30_000, udpStreamMs: 180_000, tcpCloseWaitMs: 60_000, tcpBeLiberal: false },
    {
      [name('tcp_timeout_close_wait')]: 60,
      [name('udp_timeout')]: 30,
      [name('udp_timeout_stream')]: 180,
    },
  )
})

/** The fields of the ConfigMap `kube-proxy` of kubeadm v1.36. */
const writtenByKubeadm = `${header}bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`
