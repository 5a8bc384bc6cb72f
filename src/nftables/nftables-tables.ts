/**
 * Tables of the kernel's packet filter, one of each address family, whose objects have owners: a service, a network
 * policy. Changes since the last `apply` are written in one transaction, so packets see either all or none of them.
 * On the first one, and when the kernel rejects a change because a table has been modified from outside, all tables
 * are replaced in one transaction.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import { nftFault } from './nft-fault.ts'
import { Ruleset, type Change, type Fragment } from './ruleset.ts'
import { tableFamily } from './table-family.ts'
import { chainsOf, changesText, deleteTable } from './transaction.ts'

export interface NftablesTablesOptions {
  readonly linux: Pick<Linux, 'run'>
  readonly log: Log
  /** Name of the tables. */
  readonly table: string
  readonly families: readonly IpFamily[]
  /** A base chain, which exists as long as the table was not flushed. */
  readonly witness: string
  /** Commands for the part of a new table that has no owner. */
  readonly baseRules: (family: IpFamily) => readonly string[]
  /** Commands that restore in the new table what the kernel had added to the sets of the previous one. */
  readonly restore?: (table: PreviousTable, signal: AbortSignal) => Promise<readonly string[]>
  /** Called when the kernel has rejected a transaction: one that only deletes unused chains, or any other. */
  readonly onRejected?: (kind: 'cleanup' | 'sync') => void
}

export interface PreviousTable {
  readonly family: IpFamily
  /** Content of the objects of the new table, by id. */
  readonly objects: ReadonlyMap<string, string>
}

/** Delay before an unused chain is deleted: kernels before 6.2 release references to it late. */
export const staleMs = 1_000

export class NftablesTables {
  readonly #options: NftablesTablesOptions
  readonly #rulesets: ReadonlyMap<IpFamily, Ruleset>
  /** Empty and unreferenced chains, as `ip TABLE CHAIN`, and since when they are. */
  readonly #stale = new Map<string, number>()
  #isWhole = false

  constructor(options: NftablesTablesOptions) {
    this.#options = options
    this.#rulesets = new Map(options.families.map(family => [family, new Ruleset()]))
  }

  /** Sets the objects of an owner in the table of a family; none for a deleted owner. Written by `apply`. */
  set(owner: string, fragmentOf: (family: IpFamily) => Fragment): void {
    for (const [family, ruleset] of this.#rulesets) ruleset.replace(owner, fragmentOf(family))
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
    const families = [...this.#rulesets.keys()]
    const texts = await Promise.all(families.map(family => this.#wholeText(family, signal)))
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
    const { linux, families, table, witness } = this.#options
    try {
      for (const family of families) {
        const chain = [tableFamily(family).name, table, witness]
        await linux.run(['nft', 'list', 'chain', ...chain], { signal })
      }
      return true
    } catch {
      signal.throwIfAborted()
      this.#isWhole = false
      return false
    }
  }

  /** Replaces the table regardless of its content. */
  async #wholeText(family: IpFamily, signal: AbortSignal): Promise<string> {
    const { table, baseRules, restore } = this.#options
    const objects = this.#rulesets.get(family)?.objects() ?? new Map<string, string>()
    const restored = (await restore?.({ family, objects }, signal)) ?? []
    const changes = [...objects].map(([id, after]) => ({ id, before: undefined, after }))
    return [
      deleteTable({ family, table }),
      ...baseRules(family).map(line => `${line}\n`),
      changesText(changes, { family, table }),
      ...restored.map(line => `${line}\n`),
    ].join('')
  }

  async #applyChanges(all: readonly FamilyChanges[], nowMs: number, signal: AbortSignal): Promise<boolean> {
    const { table, log } = this.#options
    const texts = all.map(({ family, changes }) => {
      const name = `${tableFamily(family).name} ${table}`
      const { gone, used } = chainsOf(changes)
      for (const chain of used) this.#stale.delete(`${name} ${chain}`)
      for (const chain of gone) this.#stale.set(`${name} ${chain}`, nowMs)
      return changesText(changes, { family, table })
    })
    const text = [...this.#takeDue(nowMs).map(chain => `delete chain ${chain}\n`), ...texts].join('')
    if (text === '') return true
    try {
      await this.#run(text, signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (nftFault(error) !== undefined) {
        this.#isWhole = false
        throw error
      }
      this.#options.onRejected?.(texts.every(each => each === '') ? 'cleanup' : 'sync')
      log.warn('nftables rules were modified, doing a full sync', { table, error })
      return false
    }
  }

  #takeDue(nowMs: number): readonly string[] {
    const due = [...this.#stale].filter(([, sinceMs]) => nowMs - sinceMs >= staleMs).map(([chain]) => chain)
    for (const chain of due) this.#stale.delete(chain)
    return due
  }

  async #run(stdin: string, signal: AbortSignal): Promise<void> {
    await this.#options.linux.run(['nft', '-f', '-'], { stdin, signal })
  }
}

interface FamilyChanges {
  readonly family: IpFamily
  readonly changes: readonly Change[]
}

/**
 * Removes the tables of this name; does nothing if there are none. Where `nft` cannot delete them they are emptied, so
 * that they have no effect.
 */
export async function removeNftablesTables(linux: Pick<Linux, 'run'>, table: string): Promise<void> {
  const families = [4, 6] as const
  const stdin = families.map(family => deleteTable({ family, table })).join('')
  try {
    await linux.run(['nft', '-f', '-'], { stdin })
  } catch (error) {
    if (nftFault(error) === undefined) throw error
    for (const family of families) {
      const flush = ['nft', 'flush', 'table', tableFamily(family).name, table]
      await linux.run(flush).catch(() => undefined)
    }
  }
}
