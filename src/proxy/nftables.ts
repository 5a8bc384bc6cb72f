/**
 * Translates service plans to nftables rules, in one table for each family. Changes since the last sync are
 * written in one transaction, so packets see either all or none of them. On the first sync, and when the
 * kernel rejects a change because the table has been modified, the whole table is replaced in one
 * transaction.
 *
 * Packets are matched by a map of addresses and ports, so that the cost does not depend on the number of
 * services; the service's chain chooses an endpoint. `nft list table ip k8ts0-proxy` shows chains named after
 * their services.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import { fragmentOf } from './nftables/fragment.ts'
import { retainedAffinity, parseSets, type AffinityEntry } from './nftables/affinity.ts'
import { Ruleset, type Change } from './nftables/ruleset.ts'
import { tableFamily } from './nftables/table-family.ts'
import { chainsOf, changesText, deleteTable, wholeText } from './nftables/transaction.ts'
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

/** Delay before an unused chain is deleted: kernels before 6.2 release references to it late. */
export const staleMs = 1_000

export class NftablesRules {
  readonly #options: NftablesOptions
  readonly #rulesets: ReadonlyMap<IpFamily, Ruleset>
  /** Empty and unreferenced chains, as `ip TABLE CHAIN`, and since when they are. */
  readonly #stale = new Map<string, number>()
  #isWhole = false

  constructor(options: NftablesOptions) {
    this.#options = options
    this.#rulesets = new Map(options.network.families.map(family => [family, new Ruleset()]))
  }

  /** Sets the plans of a service; none for a deleted one. Written by `apply`. */
  set(service: string, ports: readonly PortPlan[]): void {
    const { network } = this.#options
    for (const [family, ruleset] of this.#rulesets) {
      const own = ports.filter(port => port.family === family)
      ruleset.replace(service, new Map(own.flatMap(port => [...fragmentOf(port, network)])))
    }
  }

  /** True if the next `apply` replaces whole tables. */
  get isFullSyncNeeded(): boolean {
    return !this.#isWhole
  }

  /** True if chains are waiting to be deleted by an `apply` after `staleMs`. */
  get hasStale(): boolean {
    return this.#stale.size > 0
  }

  /**
   * Writes pending changes. False if the whole table had to be replaced because it had been modified. Throws
   * Error when that fails too; the next call retries.
   */
  async apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    const changes = [...this.#rulesets].map(([family, ruleset]) => ({
      family,
      changes: ruleset.takeChanges(),
    }))
    const wasWhole = this.#isWhole
    if (wasWhole && (await this.#applyChanges(changes, nowMs, signal))) return true
    this.#isWhole = false
    this.#stale.clear()
    const { network } = this.#options
    const texts = await Promise.all(
      [...this.#rulesets].map(async ([family, ruleset]) => {
        const clients = await this.#listClients(family, signal)
        const objects = ruleset.objects()
        return wholeText({ family, network, objects, affinity: retainedAffinity(clients, objects) })
      }),
    )
    try {
      await this.#run(texts.join(''), signal)
    } catch (error) {
      if (!signal.aborted) this.#options.onRejected?.('sync')
      throw error
    }
    this.#isWhole = true
    return !wasWhole
  }

  /** True if the tables exist: another program may have flushed all rules of the machine. */
  async verify(signal: AbortSignal): Promise<boolean> {
    const { linux, network } = this.#options
    try {
      for (const family of network.families) {
        const chain = [tableFamily(family).name, network.table, 'services']
        await linux.run(['nft', 'list', 'chain', ...chain], { signal })
      }
      return true
    } catch {
      signal.throwIfAborted()
      this.#isWhole = false
      return false
    }
  }

  async #applyChanges(all: readonly FamilyChanges[], nowMs: number, signal: AbortSignal): Promise<boolean> {
    const { network, log } = this.#options
    const texts = all.map(({ family, changes }) => {
      const table = `${tableFamily(family).name} ${network.table}`
      const { gone, used } = chainsOf(changes)
      for (const chain of used) this.#stale.delete(`${table} ${chain}`)
      for (const chain of gone) this.#stale.set(`${table} ${chain}`, nowMs)
      return changesText(changes, { family, table: network.table })
    })
    const text = [...this.#takeDue(nowMs).map(chain => `delete chain ${chain}\n`), ...texts].join('')
    if (text === '') return true
    try {
      await this.#run(text, signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      this.#options.onRejected?.(texts.every(each => each === '') ? 'cleanup' : 'sync')
      log.warn('nftables rules were modified, doing a full sync', { error })
      return false
    }
  }

  #takeDue(nowMs: number): readonly string[] {
    const due = [...this.#stale].filter(([, sinceMs]) => nowMs - sinceMs >= staleMs).map(([chain]) => chain)
    for (const chain of due) this.#stale.delete(chain)
    return due
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

  async #run(stdin: string, signal: AbortSignal): Promise<void> {
    await this.#options.linux.run(['nft', '-f', '-'], { stdin, signal })
  }
}

interface FamilyChanges {
  readonly family: IpFamily
  readonly changes: readonly Change[]
}

/** Removes all rules of a proxy; does nothing if there are none. */
export async function removeNftablesRules(linux: Pick<Linux, 'run'>, table: string): Promise<void> {
  await linux.run(['nft', '-f', '-'], { stdin: `${deleteTable(4, table)}${deleteTable(6, table)}` })
}
