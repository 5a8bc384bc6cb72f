/**
 * Translates service plans to iptables rules, in the chains that kube-proxy has (`iptables/chain-names.ts`), written by
 * `iptables-restore --noflush`. The first `apply` writes all chains, later ones only what has changed. They also check
 * that the built-in chains still jump to the chains, so that a change finds flushed rules and writes all.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import type { Linux } from '#/platform/linux.ts'
import { sharedRules } from './iptables/shared-rules.ts'
import { ChainNames } from './iptables/chain-names.ts'
import { fragmentOf } from './iptables/fragment.ts'
import { planRemoval, readChains } from './iptables/known-chains.ts'
import { RuleTables } from './iptables/rule-tables.ts'
import type { PortPlan } from './plan.ts'
import type { Proxier, ProxierOptions } from './proxier.ts'

export interface IptablesOptions extends ProxierOptions {
  /** Further rules of a port, for a mode that is built on this one. */
  readonly furtherRules?: (plan: PortPlan, names: ChainNames) => Fragment
}

/** Delay before unused chains are deleted: kernels before 6.2 release references to them late. */
const staleMs = 1_000

/** Waits for another program that holds the lock of iptables. */
const lockSeconds = '10'

export class IptablesRules implements Proxier {
  readonly mode = 'iptables'
  readonly #options: IptablesOptions
  readonly #names: ChainNames
  readonly #tables: ReadonlyMap<IpFamily, RuleTables>
  #isWhole = false

  constructor(options: IptablesOptions) {
    const { network } = options
    const names = new ChainNames(network.table)
    this.#options = options
    this.#names = names
    this.#tables = new Map(
      network.families.map(family => [family, new RuleTables(sharedRules(family, network, names))]),
    )
  }

  set(service: string, ports: readonly PortPlan[]): void {
    const { network, furtherRules } = this.#options
    for (const [family, tables] of this.#tables) {
      const own = ports.filter(port => port.family === family)
      const fragments = own.flatMap(port => [
        ...fragmentOf(port, network, this.#names),
        ...(furtherRules?.(port, this.#names) ?? []),
      ])
      tables.replace(service, new Map(fragments))
    }
  }

  get isFullSyncNeeded(): boolean {
    return !this.#isWhole
  }

  get nextApplyMs(): number | undefined {
    return [...this.#tables.values()].some(tables => tables.hasStale) ? staleMs : undefined
  }

  async apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    const wasWhole = this.#isWhole
    const changes = [...this.#tables].map(([family, tables]) => ({
      family,
      texts: tables.takeChanges(nowMs),
    }))
    if (wasWhole && (await this.#applyChanges(changes, signal))) {
      await this.#deleteStale(nowMs, signal)
      return true
    }
    this.#isWhole = false
    for (const [family, tables] of this.#tables) {
      const known = await readChains(this.#options.linux, { family, names: this.#names }, signal)
      for (const text of tables.wholeTexts(known)) await this.#restore(family, text, signal)
    }
    this.#isWhole = true
    return !wasWhole
  }

  async verify(signal: AbortSignal): Promise<boolean> {
    try {
      for (const [family, tables] of this.#tables)
        await restore(this.#options.linux, { family, text: tables.verification }, signal)
      return true
    } catch {
      signal.throwIfAborted()
      this.#isWhole = false
      return false
    }
  }

  /** The rules remain. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #applyChanges(changes: readonly FamilyTexts[], signal: AbortSignal): Promise<boolean> {
    const { log, network } = this.#options
    try {
      for (const { family, texts } of changes)
        for (const text of texts) await this.#restore(family, text, signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      log.warn('iptables rules were modified, doing a full sync', { table: network.table, error })
      return false
    }
  }

  /** Chains that cannot be deleted yet are tried again. */
  async #deleteStale(nowMs: number, signal: AbortSignal): Promise<void> {
    const { linux, log, onRejected } = this.#options
    for (const [family, tables] of this.#tables) {
      const { chains, text } = tables.takeStale(nowMs - staleMs)
      if (chains.length === 0) continue
      try {
        await restore(linux, { family, text }, signal)
      } catch (error) {
        signal.throwIfAborted()
        onRejected?.('cleanup')
        tables.keepStale(chains, nowMs)
        log.debug('Failed to delete iptables chains', { error })
      }
    }
  }

  async #restore(family: IpFamily, text: string, signal: AbortSignal): Promise<void> {
    const { linux, onRejected } = this.#options
    try {
      await restore(linux, { family, text }, signal)
    } catch (error) {
      if (!signal.aborted) onRejected?.('sync')
      throw error
    }
  }
}

interface FamilyTexts {
  readonly family: IpFamily
  readonly texts: readonly string[]
}

interface FamilyText {
  readonly family: IpFamily
  readonly text: string
}

async function restore(
  linux: Pick<Linux, 'run'>,
  { family, text }: FamilyText,
  signal?: AbortSignal,
): Promise<void> {
  const command = [family === 4 ? 'iptables-restore' : 'ip6tables-restore', '-w', lockSeconds, '--noflush']
  await linux.run(command, { stdin: text, ...(signal && { signal }) })
}

/** Removes the chains of a cluster, and the jumps to them; does nothing if there are none or no iptables. */
export async function removeIptablesRules(linux: Pick<Linux, 'run'>, table: string): Promise<void> {
  const names = new ChainNames(table)
  for (const family of [4, 6] as const) {
    const known = await readChains(linux, { family, names }).catch((error: unknown) => {
      // Where chains cannot be read none were written: there is no iptables, or the kernel lacks a table.
      if ((error as { readonly exitCode?: number }).exitCode !== undefined) return undefined
      throw error
    })
    const text = known && planRemoval(known)
    if (text) await restore(linux, { family, text })
  }
}
