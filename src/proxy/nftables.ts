/**
 * Translates service plans to nftables rules, in one table for each family. Packets are matched by a map of addresses
 * and ports, so that the cost does not depend on the number of services; the service's chain chooses an endpoint.
 * `nft list table ip k8ts0-proxy` shows chains named after their services.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import { NftablesTables, type PreviousTable } from '#/nftables/nftables-tables.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import { parseSets, restoreCommands, retainedAffinity, type AffinityEntry } from './nftables/affinity.ts'
import { baseRules } from './nftables/base-rules.ts'
import { fragmentOf } from './nftables/fragment.ts'
import type { PortPlan } from './plan.ts'

export interface NftablesOptions {
  readonly linux: Pick<Linux, 'run'>
  readonly log: Log
  readonly network: ProxyNetwork
  /** Called when the kernel has rejected a transaction: one that only deletes unused chains, or any other. */
  readonly onRejected?: (kind: 'cleanup' | 'sync') => void
}

/** The network of the node. Ranges and addresses may be of both families. */
export interface ProxyNetwork {
  /** Name of the tables. */
  readonly table: string
  readonly families: readonly IpFamily[]
  /** Ranges of all pods of the cluster. */
  readonly podCidrs: readonly string[]
  /** Packets to unassigned addresses in these ranges are dropped. */
  readonly serviceCidrs: readonly string[]
  readonly nodeAddresses: readonly string[]
  /**
   * Local addresses that accept node ports; by default all but loopback addresses. The node's addresses
   * always accept them.
   */
  readonly nodePortAddresses?: readonly string[]
  /**
   * Addresses of other clusters on this machine: they do not accept node ports, unless they are addresses of
   * the node.
   */
  readonly foreignAddresses?: readonly string[]
}

export class NftablesRules {
  readonly #options: NftablesOptions
  readonly #tables: NftablesTables

  constructor(options: NftablesOptions) {
    const { linux, log, network, onRejected } = options
    this.#options = options
    this.#tables = new NftablesTables({
      linux,
      log,
      table: network.table,
      families: network.families,
      witness: 'services',
      baseRules: family => baseRules(family, network),
      restore: (table, signal) => this.#restoreAffinity(table, signal),
      ...(onRejected && { onRejected }),
    })
  }

  /** Sets the plans of a service; none for a deleted one. Written by `apply`. */
  set(service: string, ports: readonly PortPlan[]): void {
    const { network } = this.#options
    this.#tables.set(service, family => {
      const own = ports.filter(port => port.family === family)
      return new Map(own.flatMap(port => [...fragmentOf(port, network)]))
    })
  }

  /** True if the next `apply` replaces whole tables. */
  get isFullSyncNeeded(): boolean {
    return this.#tables.isFullSyncNeeded
  }

  /** True if chains are waiting to be deleted by an `apply` after `staleMs`. */
  get hasStale(): boolean {
    return this.#tables.hasStale
  }

  /**
   * Writes pending changes. False if the whole table had to be replaced because it had been modified. Throws
   * Error when that fails too; the next call retries.
   */
  apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    return this.#tables.apply(nowMs, signal)
  }

  /** True if the tables exist: another program may have flushed all rules of the machine. */
  verify(signal: AbortSignal): Promise<boolean> {
    return this.#tables.verify(signal)
  }

  async #restoreAffinity(
    { family, objects }: PreviousTable,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { network } = this.#options
    const clients = retainedAffinity(await this.#listClients(family, signal), objects)
    return restoreCommands(clients, `${tableFamily(family).name} ${network.table}`)
  }

  async #listClients(family: IpFamily, signal: AbortSignal): Promise<readonly AffinityEntry[]> {
    const { linux, network, log } = this.#options
    try {
      const listed = await linux.run(['nft', '-j', 'list', 'sets', tableFamily(family).name], { signal })
      return parseSets(listed, network.table)
    } catch (error) {
      signal.throwIfAborted()
      log.warn('Failed to list affinity sets, session affinity is lost', { error })
      return []
    }
  }
}
