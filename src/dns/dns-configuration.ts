/** What a DNS server answers from which source: the meaning of a Corefile. Names are lower case, without the dot at
 * the end; the empty name is the root. */
import type { Server } from './server/upstream-servers.ts'

export interface DnsConfiguration {
  /** Each zone once. A name belongs to the longest zone that it ends with. */
  readonly servers: readonly ServerBlock[]
}

/** The sources for the names of a zone, in this order: rewrite, hosts, kubernetes, forward. */
export interface ServerBlock {
  readonly zone: string
  readonly rewrites: readonly RewriteRule[]
  readonly hosts?: HostsSettings
  readonly kubernetes?: KubernetesSettings
  readonly forwards: readonly ForwardSettings[]
  /** Answers of upstream servers are not cached without it. */
  readonly cache?: CacheSettings
  readonly log?: LogSettings
  /** Names of the plugins, also of those without effect. */
  readonly plugins: readonly string[]
}

/** Zones for which a source lets the next one answer names that it does not have. */
export type Fallthrough = readonly string[]

export interface KubernetesSettings {
  /** The zones of services and pods; the first one is used in PTR records. */
  readonly domains: readonly string[]
  /** Zones below `in-addr.arpa` and `ip6.arpa`. */
  readonly reverseZones: readonly string[]
  readonly pods: PodNames
  readonly ttlSeconds: number
  readonly fallthrough: Fallthrough
}

/**
 * Names such as `10-244-0-5.default.pod`: `insecure` answers each with the address in it, `verified` only if a pod of
 * the namespace has the address.
 */
export type PodNames = 'disabled' | 'insecure' | 'verified'

export interface HostsSettings {
  /** Of names in these zones. */
  readonly zones: readonly string[]
  readonly addresses: ReadonlyMap<string, readonly string[]>
  /** Names by canonical address; empty with `no_reverse`. */
  readonly names: ReadonlyMap<string, readonly string[]>
  readonly ttlSeconds: number
  readonly fallthrough: Fallthrough
}

export interface ForwardSettings {
  readonly from: string
  readonly except: readonly string[]
  readonly to: readonly (Server | typeof machineServers)[]
  /** `client`: as the query of the client. */
  readonly transport: 'client' | 'udp' | 'tcp'
  readonly policy: ForwardPolicy
  readonly concurrentMax?: number
}

/** The name servers of the machine, `/etc/resolv.conf`. */
export const machineServers = 'resolv.conf'

/** `last` begins with the server that has answered last. */
export type ForwardPolicy = 'last' | 'random' | 'round_robin' | 'sequential'

export interface CacheSettings {
  readonly zones: readonly string[]
  readonly successSecondsMax: number
  readonly denialSecondsMax: number
  readonly uncachedSuccess: readonly string[]
  readonly uncachedDenial: readonly string[]
  /** Time for which expired answers are served while no upstream server answers; 0 for never. */
  readonly staleSecondsMax: number
}

export interface LogSettings {
  readonly zones: readonly string[]
  readonly classes: readonly LogClass[]
}

export type LogClass = 'all' | 'success' | 'denial' | 'error'

/** Replaces the name of a query: a whole name, or the end of it. */
export interface RewriteRule {
  readonly match: 'exact' | 'suffix'
  readonly from: string
  readonly to: string
}

/** The default TTL of the plugin `kubernetes`. */
export const defaultTtlSeconds = 5

/** Default of a cluster without a Corefile. */
export function defaultDnsConfiguration(domain: string): DnsConfiguration {
  return {
    servers: [
      {
        zone: '',
        rewrites: [],
        kubernetes: {
          domains: [domain.toLowerCase()],
          reverseZones: ['in-addr.arpa', 'ip6.arpa'],
          pods: 'insecure',
          ttlSeconds: defaultTtlSeconds,
          fallthrough: ['in-addr.arpa', 'ip6.arpa'],
        },
        forwards: [{ from: '', except: [], to: [machineServers], transport: 'client', policy: 'last' }],
        cache: {
          zones: [''],
          successSecondsMax: 30,
          denialSecondsMax: 30,
          uncachedSuccess: [],
          uncachedDenial: [],
          staleSecondsMax: 3_600,
        },
        plugins: ['cache', 'forward', 'kubernetes'],
      },
    ],
  }
}

export function isInZone(name: string, zone: string): boolean {
  return zone === '' || name === zone || name.endsWith(`.${zone}`)
}

/** The longest of the zones that contains the name. */
export function zoneOf(name: string, zones: readonly string[]): string | undefined {
  let longest: string | undefined
  for (const zone of zones) if (isInZone(name, zone) && zone.length >= (longest?.length ?? 0)) longest = zone
  return longest
}
