/**
 * DNS configuration of a pod: the cluster's, the node's or the pod's own.
 * https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
 */
import type { PodDNSConfig, PodDNSConfigOption } from '#/api/generated/core/v1.ts'
import { parseIp } from '#/api/net/ip.ts'
import { quote } from '#/api/text/quote.ts'
import type { DnsConfig } from '#/cri/cri.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { formatPod, type KubeletPod } from './kubelet-pod.ts'

/** Limits of resolvers. */
const serversMax = 3
const searchesMax = 32
const searchLineMax = 2048
/** Some resolvers abort on search paths longer than a DNS name. */
const searchMax = 253

export interface PodWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS'
  readonly message: string
}

export interface PodDns {
  readonly config: DnsConfig
  /** To be recorded as events of the pod. */
  readonly warnings: readonly PodWarning[]
}

type Settings = Pick<KubeletConfiguration, 'clusterDNS' | 'clusterDomain' | 'resolvConf' | 'addresses'>

/** `resolvConf` is the content of the node's resolv.conf. */
export function podDns(pod: KubeletPod, node: Settings, resolvConf: string): PodDns {
  const warnings: PodWarning[] = []
  if (dnsTypeOf(pod) === 'cluster' && node.clusterDNS.length === 0) warnings.push(missingClusterDns(pod))
  const base = baseConfig(pod, node, parseResolvConf(resolvConf))
  const { servers, searches, options } = pod.spec?.dnsConfig ? added(base, pod.spec.dnsConfig) : base
  const config = {
    servers: limitServers(servers, warnings),
    searches: limitSearches(searches, warnings),
    options,
  }
  return { config, warnings }
}

type DnsType = 'none' | 'cluster' | 'host'

function dnsTypeOf(pod: KubeletPod): DnsType {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = pod.spec ?? {}
  switch (dnsPolicy) {
    case 'None':
      return 'none'
    case 'Default':
      return 'host'
    case 'ClusterFirst':
      return hostNetwork ? 'host' : 'cluster'
    default:
      return 'cluster'
  }
}

function baseConfig(pod: KubeletPod, node: Settings, host: DnsConfig): DnsConfig {
  const type = dnsTypeOf(pod)
  if (type === 'none') return { servers: [], searches: [], options: [] }
  if (type === 'cluster' && node.clusterDNS.length > 0) {
    const { clusterDNS: servers, clusterDomain: domain } = node
    const own = domain === '' ? [] : [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain]
    return { servers, searches: unique([...own, ...host.searches]), options: ['ndots:5'] }
  }
  if (node.resolvConf !== '') return host
  // No DNS: a loopback address is set explicitly, because with an empty list resolvers would use the node's.
  const servers = node.addresses.map(address => (parseIp(address)?.family === 6 ? '::1' : '127.0.0.1'))
  return { servers: servers.length > 0 ? servers : ['127.0.0.1'], searches: ['.'], options: [] }
}

function added(base: DnsConfig, { nameservers = [], searches = [], options = [] }: PodDNSConfig): DnsConfig {
  return {
    servers: unique([...base.servers, ...nameservers]),
    searches: unique([...base.searches, ...searches]),
    options: mergeOptions(base.options, options),
  }
}

function mergeOptions(base: readonly string[], more: readonly PodDNSConfigOption[]): readonly string[] {
  const options = new Map<string, string>()
  for (const option of base) {
    const colon = option.indexOf(':')
    if (colon === -1) options.set(option, '')
    else options.set(option.slice(0, colon), option.slice(colon + 1))
  }
  for (const { name = '', value = '' } of more) options.set(name, value)
  return [...options].map(([name, value]) => (value === '' ? name : `${name}:${value}`))
}

function limitServers(servers: readonly string[], warnings: PodWarning[]): readonly string[] {
  if (servers.length <= serversMax) return servers
  const kept = servers.slice(0, serversMax)
  const message =
    'Nameserver limits were exceeded, some nameservers have been omitted, ' +
    `the applied nameserver line is: ${kept.join(' ')}`
  warnings.push({ reason: 'DNSConfigForming', message })
  return kept
}

function limitSearches(searches: readonly string[], warnings: PodWarning[]): readonly string[] {
  const kept = searches.slice(0, searchesMax).filter(search => search.length <= searchMax)
  while (kept.join(' ').length > searchLineMax) kept.pop()
  if (kept.length === searches.length) return searches
  const message =
    'Search Line limits were exceeded, some search paths have been omitted, ' +
    `the applied search line is: ${kept.join(' ')}`
  warnings.push({ reason: 'DNSConfigForming', message })
  return kept
}

function missingClusterDns(pod: KubeletPod): PodWarning {
  const message =
    `pod: ${quote(formatPod(pod))}. kubelet does not have ClusterDNS IP configured and cannot create Pod using ` +
    '"ClusterFirst" policy. Falling back to "Default" policy.'
  return { reason: 'MissingClusterDNS', message }
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

/** Longer files are truncated. */
const charactersMax = 1024 * 1024

/** Nameservers accumulate; the last search line wins; of options, the last of each name wins. */
function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = []
  let searches: readonly string[] = []
  const options = new Map<string, string>()
  for (const line of text.slice(0, charactersMax).split('\n')) {
    const [keyword = '', ...fields] = line.trim().split(/\s+/)
    if (keyword === 'nameserver' && fields[0] !== undefined) servers.push(fields[0])
    if (keyword === 'search') {
      searches = fields.filter(field => field !== '.').map(field => field.replace(/\.$/, ''))
    }
    if (keyword === 'options') {
      for (const option of fields) options.set(option.split(':', 1)[0] ?? '', option)
    }
  }
  return { servers, searches, options: [...options.values()] }
}
