/**
 * KubeProxyConfiguration: each field of the API type with its meaning here, as in the file of the kubelet.
 * https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/
 */
import { parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import { UsageError } from '#/base/flags.ts'
import type { ConntrackSettings } from '#/proxy/conntrack-sysctls.ts'
import type { ProxyMode } from '#/proxy/proxier.ts'
import {
  boolean,
  duration,
  integer,
  only,
  readNodeConfiguration,
  text,
  texts,
  unsupported,
  unused,
  type Fields,
  type NodeConfiguration,
} from '../node-configuration.ts'
import { parseProxyMode } from './mode-flag.ts'

/** Settings of a file or of flags; what is absent has a default. */
export interface ProxySettings {
  readonly kubeconfig: string
  readonly mode: ProxyMode
  readonly requestsPerSecond: number
  readonly requestsBurst: number
  readonly hostname: string
  readonly podCidrs: readonly string[]
  readonly detectsLocalByNode: boolean
  readonly nodePortAddresses: readonly string[]
  readonly health: ServerAddress
  readonly metrics: ServerAddress
  readonly conntrack: ConntrackSettings
}

export interface ServerAddress {
  readonly host: string
  /** 0 turns the server off. */
  readonly port: number
}

/** Throws UsageError. */
export function readProxyConfiguration(content: string): NodeConfiguration<ProxySettings> {
  return readNodeConfiguration(content, {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    fields,
  })
}

/** Throws UsageError. */
export function parseCidrs(given: string): readonly string[] {
  const all = given.split(',').map(each => each.trim())
  const wrong = all.find(each => parseCidr(each) === undefined)
  if (wrong !== undefined) throw new UsageError(`${wrong} is not a CIDR`)
  return all
}

/** `primary` means the addresses of the node, which always accept node ports. Throws UsageError. */
export function parseNodePortAddresses(given: readonly string[]): readonly string[] {
  return given.length === 1 && given[0] === 'primary' ? [] : given.flatMap(parseCidrs)
}

/** `IP:port`, or only an address. Throws UsageError. */
export function parseServerAddress(given: string, usualPort: number): ServerAddress {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(given) ?? []
  const host = parseIp(given) ? given : (bracketed ?? plain ?? '')
  if (parseIp(host) === undefined || Number(port ?? 0) > 65_535)
    throw new UsageError('must be an address with a port, such as 0.0.0.0:10256')
  return { host, port: port === undefined ? usualPort : Number(port) }
}

type Settings = ProxySettings

const modes = 'pods are known by their addresses'

const masquerading = 'packets are masqueraded only where their source would be lost'

const fields: Fields<Settings> = {
  mode: text<Settings>(value => ({ mode: parseProxyMode(value) })),
  clusterCIDR: text(value => ({ podCidrs: parseCidrs(value) })),
  detectLocalMode: value => {
    const known = only<Settings>(['ClusterCIDR', 'NodeCIDR'], modes)(value)
    return value === 'NodeCIDR' ? { detectsLocalByNode: true } : known
  },
  detectLocal: { bridgeInterface: unsupported(modes), interfaceNamePrefix: unsupported(modes) },
  nodePortAddresses: texts(value => ({ nodePortAddresses: parseNodePortAddresses(value) })),
  hostnameOverride: text(hostname => ({ hostname })),
  healthzBindAddress: text(value => ({ health: parseServerAddress(value, 10_256) })),
  metricsBindAddress: text(value => ({ metrics: parseServerAddress(value, 10_249) })),
  clientConnection: {
    kubeconfig: text(kubeconfig => ({ kubeconfig })),
    qps: value => {
      if (typeof value !== 'number' || value < 0) throw new UsageError('must be a number')
      return value === 0 ? {} : { requestsPerSecond: value }
    },
    burst: integer<Settings>(value => (value === 0 ? {} : { requestsBurst: value })),
    acceptContentTypes: unused(),
    contentType: unused('application/json', 'application/vnd.kubernetes.protobuf'),
  },
  conntrack: {
    maxPerCore: integer(maxPerCore => ({ conntrack: { maxPerCore } })),
    min: integer(min => ({ conntrack: { min } })),
    tcpEstablishedTimeout: duration(tcpEstablishedMs => ({ conntrack: { tcpEstablishedMs } })),
    tcpCloseWaitTimeout: duration(tcpCloseWaitMs => ({ conntrack: { tcpCloseWaitMs } })),
    tcpBeLiberal: boolean(tcpBeLiberal => ({ conntrack: { tcpBeLiberal } })),
    udpTimeout: duration(udpMs => ({ conntrack: { udpMs } })),
    udpStreamTimeout: duration(udpStreamMs => ({ conntrack: { udpStreamMs } })),
  },
  nftables: {
    masqueradeAll: only([false], masquerading),
    masqueradeBit: unused(14),
    syncPeriod: unused('30s'),
    minSyncPeriod: unused('1s'),
  },
  iptables: {
    masqueradeAll: only([false], masquerading),
    masqueradeBit: unused(14),
    localhostNodePorts: unused(true, false),
    syncPeriod: unused('30s'),
    minSyncPeriod: unused('1s'),
  },
  ipvs: {
    syncPeriod: unused(),
    minSyncPeriod: unused(),
    scheduler: unused(),
    excludeCIDRs: unused(),
    strictARP: unused(false),
    tcpTimeout: unused(),
    tcpFinTimeout: unused(),
    udpTimeout: unused(),
  },
  winkernel: {
    networkName: unused(),
    sourceVip: unused(),
    enableDSR: unused(false),
    rootHnsEndpointName: unused(),
    forwardHealthCheckVip: unused(false),
  },
  bindAddress: unused('0.0.0.0', '::'),
  bindAddressHardFail: unused(false),
  configSyncPeriod: unused('15m0s', '15m'),
  portRange: unused(),
  oomScoreAdj: unused(-999),
  enableProfiling: unused(false),
  showHiddenMetricsForVersion: unused(),
  featureGates: unused(),
  logging: unused(),
  windowsRunAsService: unused(false),
}
