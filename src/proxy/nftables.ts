/**
 * Translates service plans to nftables rules, in one table for each family. Packets are matched by a map of addresses
 * and ports, so that the cost does not depend on the number of services; the service's chain chooses an endpoint.
 * `nft list table ip k8ts0-proxy` shows chains named after their services.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import { NftablesTables, staleMs, type PreviousTable } from '#/nftables/nftables-tables.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import { parseSets, restoreCommands, retainedAffinity, type AffinityEntry } from './nftables/affinity.ts'
import { baseRules } from './nftables/base-rules.ts'
import { fragmentOf } from './nftables/fragment.ts'
import type { PortPlan } from './plan.ts'
import type { Proxier, ProxierOptions } from './proxier.ts'

export class NftablesRules implements Proxier {
  readonly mode = 'nftables'
  readonly #options: ProxierOptions
  readonly #tables: NftablesTables

  constructor(options: ProxierOptions) {
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

  set(service: string, ports: readonly PortPlan[]): void {
    const { network } = this.#options
    this.#tables.set(service, family => {
      const own = ports.filter(port => port.family === family)
      return new Map(own.flatMap(port => [...fragmentOf(port, network)]))
    })
  }

  get isFullSyncNeeded(): boolean {
    return this.#tables.isFullSyncNeeded
  }

  get nextApplyMs(): number | undefined {
    return this.#tables.hasStale ? staleMs : undefined
  }

  apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    return this.#tables.apply(nowMs, signal)
  }

  verify(signal: AbortSignal): Promise<boolean> {
    return this.#tables.verify(signal)
  }

  /** The rules remain. */
  async [Symbol.asyncDispose](): Promise<void> {}

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
