import { Ruleset, type Fragment } from '#/nftables/ruleset.ts'
import type { SharedRules } from './shared-rules.ts'
import { tableText, type KnownChains } from './known-chains.ts'
import { parseRuleObject, type IptablesTable } from './rule-objects.ts'

const tables: readonly IptablesTable[] = ['filter', 'nat']

/**
 * Chains written by one call of `iptables-restore`. The time that its nftables variant takes grows with the square of
 * their number, so that many are written by several calls: those that are jumped to before those that jump to them.
 */
const chainsOfCallMax = 1_000

/**
 * The tables `nat` and `filter` of one address family: the desired chains, by owner, and the texts for
 * `iptables-restore` that write them.
 */
export class RuleTables {
  readonly #shared: Readonly<Record<IptablesTable, SharedRules>>
  readonly #ruleset = new Ruleset()
  /** Chains of one owner, all of `nat`, with their rules. */
  readonly #chains = new Map<string, string>()
  /** Rules of services in shared chains, by chain and key. */
  readonly #rules: Readonly<Record<IptablesTable, Map<string, Map<string, string>>>> = {
    nat: new Map(),
    filter: new Map(),
  }
  /** Empty and unreferenced chains, and since when they are. */
  readonly #stale = new Map<string, number>()

  constructor(shared: Readonly<Record<IptablesTable, SharedRules>>) {
    this.#shared = shared
  }

  /** Sets the objects of an owner; an empty fragment removes it. */
  replace(owner: string, fragment: Fragment): void {
    this.#ruleset.replace(owner, fragment)
  }

  get hasStale(): boolean {
    return this.#stale.size > 0
  }

  /** Texts that write what has changed since the last call, in their order; none if nothing has. */
  takeChanges(nowMs: number): readonly string[] {
    const chains = new Set<string>()
    const rules: Record<IptablesTable, string[]> = { nat: [], filter: [] }
    for (const { id, before, after } of this.#ruleset.takeChanges()) {
      const { table, chain, key } = parseRuleObject(id)
      if (key === undefined) {
        this.#setChain(chain, after, nowMs)
        chains.add(chain)
      } else {
        this.#setRule({ table, chain, key }, after)
        if (before !== undefined) rules[table].push(`-D ${chain} ${before}`)
        if (after !== undefined) rules[table].push(`-I ${chain} 1 ${after}`)
      }
    }
    if (chains.size + rules.nat.length + rules.filter.length === 0) return []
    return this.#texts(chains, table => [
      // Fails if another program has flushed the rules.
      ...this.#shared[table].jumps.map(jump => `-C ${jump}`),
      ...rules[table],
    ])
  }

  /** Texts that write all chains, in their order, and delete what else the kernel has of this cluster. */
  wholeTexts(known: KnownChains): readonly string[] {
    this.#stale.clear()
    const marks = [...this.#shared.nat.chains].filter(([chain]) => chain.includes('-MARK-'))
    const first = tableText('nat', chainLines(marks))
    const rest = this.#texts(this.#chains.keys(), table => {
      const { chains: shared, jumps } = this.#shared[table]
      const wanted = new Set([...shared.keys(), ...(table === 'nat' ? this.#chains.keys() : [])])
      const others = [...known[table].chains].filter(chain => !wanted.has(chain))
      const all = [...shared].map(([chain, rules]): Chain => {
        return [chain, [...(this.#rules[table].get(chain)?.values() ?? []), ...rules]]
      })
      return [
        ...chainLines([...all, ...others.map((chain): Chain => [chain, []])]),
        ...known[table].jumps.map(jump => `-D ${jump}`),
        // Each is inserted as the first rule: before those of other programs, which may accept packets.
        ...jumps.toReversed().map(jump => `-I ${jump.replace(' ', ' 1 ')}`),
        ...others.map(chain => `-X ${chain}`),
      ]
    })
    return [first, ...rest]
  }

  /** Text that changes nothing, and fails unless the built-in chains jump to existing chains. */
  get verification(): string {
    const texts = tables.map(table => {
      return tableText(
        table,
        this.#shared[table].jumps.map(jump => `-C ${jump}`),
      )
    })
    return texts.join('')
  }

  /** Text that deletes the chains that are unused since then, and their names. */
  takeStale(beforeMs: number): { readonly chains: readonly string[]; readonly text: string } {
    const chains = [...this.#stale].filter(([, sinceMs]) => sinceMs <= beforeMs).map(([chain]) => chain)
    for (const chain of chains) this.#stale.delete(chain)
    return {
      chains,
      text: tableText(
        'nat',
        chains.map(chain => `-X ${chain}`),
      ),
    }
  }

  keepStale(chains: readonly string[], nowMs: number): void {
    for (const chain of chains) if (!this.#chains.has(chain)) this.#stale.set(chain, nowMs)
  }

  #setChain(chain: string, rules: string | undefined, nowMs: number): void {
    if (rules === undefined) {
      this.#chains.delete(chain)
      this.#stale.set(chain, nowMs)
    } else {
      this.#chains.set(chain, rules)
      this.#stale.delete(chain)
    }
  }

  #setRule(
    { table, chain, key }: { readonly table: IptablesTable; readonly chain: string; readonly key: string },
    rule: string | undefined,
  ): void {
    const rules = this.#rules[table].get(chain) ?? new Map<string, string>()
    this.#rules[table].set(chain, rules)
    if (rule === undefined) rules.delete(key)
    else rules.set(key, rule)
  }

  /** Everything is written by one call, which is one transaction for each table, unless there are too many chains. */
  #texts(chains: Iterable<string>, restOf: (table: IptablesTable) => readonly string[]): readonly string[] {
    const written = [...chains]
      .toSorted((a, b) => rankOf(a) - rankOf(b))
      .map((chain): Chain => [chain, this.#chains.get(chain)?.split('\n').filter(Boolean) ?? []])
    const calls = Array.from({ length: Math.ceil(written.length / chainsOfCallMax) }, (_, index) => {
      return chainLines(written.slice(index * chainsOfCallMax, (index + 1) * chainsOfCallMax))
    })
    const last = calls.pop() ?? []
    return [
      ...calls.map(lines => tableText('nat', lines)),
      tableText('filter', restOf('filter')) + tableText('nat', [...last, ...restOf('nat')]),
    ]
  }
}

type Chain = readonly [name: string, rules: readonly string[]]

/** Chains are declared, and thereby emptied, before the rules that jump to them. */
function chainLines(chains: readonly Chain[]): readonly string[] {
  return [
    ...chains.map(([chain]) => `:${chain} - [0:0]`),
    ...chains.flatMap(([chain, rules]) => rules.map(rule => `-A ${chain} ${rule}`)),
  ]
}

/** Chains jump only to those of lower rank. */
function rankOf(chain: string): number {
  return ['-SEP-', '-SVC-', '-SVL-', '-EXT-', '-FW-'].findIndex(kind => chain.includes(kind))
}
