import type { Platform } from '#/platform/platform.ts'
import {
  isInZone,
  type DnsConfiguration,
  type ForwardSettings,
  type ServerBlock,
} from '../dns-configuration.ts'
import type { DnsMetrics } from '../dns-metrics.ts'
import type { DnsState } from '../records.ts'
import type { AnswerCache } from './answer-cache.ts'
import type { ClusterState } from './cluster-state.ts'
import { Forwarder } from './forwarder.ts'
import type { BlockState } from './resolve-question.ts'
import type { Server } from './upstream-servers.ts'
import type { WaitingQueries } from './waiting-queries.ts'

export interface NameServerOptions {
  readonly platform: Platform
  readonly configuration: DnsConfiguration
  /** Number of the configuration: answers that are still asked for by an earlier one are not used. */
  readonly version: number
  readonly cluster: ClusterState
  /** Cluster IPs of the DNS service. */
  readonly nameServers: readonly string[]
  readonly machineServers: () => Promise<readonly Server[]>
  readonly cache: AnswerCache
  readonly waiting: WaitingQueries
  readonly metrics: DnsMetrics
}

/** A configuration with all that is needed to answer queries by it. */
export class NameServer {
  /** The longest zone first. */
  readonly zoneServers: readonly ZoneServer[]

  constructor(options: NameServerOptions) {
    const blocks = options.configuration.servers.toSorted((a, b) => b.zone.length - a.zone.length)
    this.zoneServers = blocks.map(block => new ZoneServer(block, options))
  }

  zoneServerOf(name: string): ZoneServer | undefined {
    const lower = name.toLowerCase()
    return this.zoneServers.find(({ block }) => isInZone(lower, block.zone))
  }
}

export class ZoneServer implements BlockState {
  readonly block: ServerBlock
  readonly states: ReadonlyMap<string, DnsState>
  readonly #forwarders: ReadonlyMap<ForwardSettings, Forwarder>
  readonly #cluster: ClusterState

  constructor(block: ServerBlock, options: NameServerOptions) {
    const { kubernetes, forwards, cache: cacheSettings } = block
    const { cluster, nameServers, version } = options
    this.block = block
    this.#cluster = cluster
    if (kubernetes?.pods === 'verified') cluster.watchPods()
    this.states = new Map(
      kubernetes?.domains.map(domain => [domain, { ...cluster, ...kubernetes, domain, nameServers }]),
    )
    this.#forwarders = new Map(
      forwards.map((settings, index) => {
        const cachePrefix = `${version} ${block.zone} ${index}`
        return [settings, new Forwarder({ ...options, settings, cacheSettings, cachePrefix })]
      }),
    )
  }

  get isKnown(): boolean {
    return this.#cluster.hasSynced
  }

  forwarderOf(settings: ForwardSettings): Forwarder {
    return this.#forwarders.get(settings)!
  }
}
