/**
 * Plans for services as rules of nftables, in a table of our own for each family. What changed since the last time is
 * written in one transaction: packets see either all of it or nothing. The first time, and whenever the kernel refuses
 * a change because the table is not what we left, the whole table is replaced, again in one transaction.
 *
 * A packet finds its service in a map of addresses and ports, so that it costs the same however many services there
 * are; the service's chain chooses an endpoint. `nft list table ip k8ts0-proxy` shows chains named for their services.
 */
import type { IpFamily } from '#/api/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import { fragmentOf } from './nftables/fragment.ts'
import { keptAffinity, parseSets, type KeptClient } from './nftables/affinity.ts'
import { Ruleset, type Change } from './nftables/ruleset.ts'
import { tableFamily } from './nftables/table-family.ts'
import { chainsOf, changesText, deleteTable, wholeText } from './nftables/transaction.ts'
import type { PortPlan } from './plan.ts'

export interface NftablesOptions {
  readonly linux: Pick<Linux, 'run'>
  readonly log: Log
  readonly network: ProxyNetwork
}

/** Where the proxy is. Ranges and addresses may be of both families. */
export interface ProxyNetwork {
  /** The name of our tables. */
  readonly table: string
  readonly families: readonly IpFamily[]
  /** Of all pods of the cluster. */
  readonly podCidrs: readonly string[]
  /** Packets to addresses in here that no service has are dropped. */
  readonly serviceCidrs: readonly string[]
  readonly nodeAddresses: readonly string[]
  /**
   * Local addresses in here have node ports; all but loopback addresses when absent. The node's own always have.
   */
  readonly nodePortAddresses?: readonly string[]
  /** Addresses of other clusters on this machine: never for our node ports, unless they are the node's own. */
  readonly foreignAddresses?: readonly string[]
}

/** How long after its last use a chain can be deleted: kernels before 6.2 notice late that it is not used any more. */
export const staleMs = 1_000

export class NftablesRules {
  readonly #options: NftablesOptions
  readonly #rulesets: ReadonlyMap<IpFamily, Ruleset>
  /** Chains that are empty and not used any more, as `ip TABLE CHAIN`, and since when. */
  readonly #stale = new Map<string, number>()
  #isWhole = false

  constructor(options: NftablesOptions) {
    this.#options = options
    this.#rulesets = new Map(options.network.families.map(family => [family, new Ruleset()]))
  }

  /** What is to become of packets to a service; nothing for one that is gone. `apply` writes it. */
  set(service: string, ports: readonly PortPlan[]): void {
    const { network } = this.#options
    for (const [family, ruleset] of this.#rulesets) {
      const own = ports.filter(port => port.family === family)
      ruleset.replace(service, new Map(own.flatMap(port => [...fragmentOf(port, network)])))
    }
  }

  /** Whether chains wait to be deleted by an `apply` after `staleMs`. */
  get hasStale(): boolean {
    return this.#stale.size > 0
  }

  /**
   * Writes what changed. False when all had to be written, since the table was not what was left. Throws Error when not
   * even that can be done; the next call tries again.
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
        return wholeText({ family, network, objects, affinity: keptAffinity(clients, objects) })
      }),
    )
    await this.#run(texts.join(''), signal)
    this.#isWhole = true
    return !wasWhole
  }

  /** Whether the tables are there: others may have flushed all rules of the machine. */
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
      log.warn('rules for services are not what they were left as: writing all of them', { error })
      return false
    }
  }

  #takeDue(nowMs: number): readonly string[] {
    const due = [...this.#stale].filter(([, sinceMs]) => nowMs - sinceMs >= staleMs).map(([chain]) => chain)
    for (const chain of due) this.#stale.delete(chain)
    return due
  }

  async #listClients(family: IpFamily, signal: AbortSignal): Promise<readonly KeptClient[]> {
    const { linux, network, log } = this.#options
    try {
      const listed = await linux.run(['nft', '-j', 'list', 'sets', tableFamily(family).name], { signal })
      return parseSets(listed, network.table)
    } catch (error) {
      signal.throwIfAborted()
      log.warn('clients of services with session affinity are given to endpoints anew', { error })
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

/** Removes all that a proxy wrote; nothing being there is fine. */
export async function removeNftablesRules(linux: Pick<Linux, 'run'>, table: string): Promise<void> {
  await linux.run(['nft', '-f', '-'], { stdin: `${deleteTable(4, table)}${deleteTable(6, table)}` })
}
