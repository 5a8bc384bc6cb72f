/**
 * The objects of iptables rules, as ids for a `Ruleset`: chains of one owner with their rules, one per line, and single
 * rules in chains of all services, whose key makes them unique.
 */
import type { Fragment } from '#/nftables/ruleset.ts'

export type IptablesTable = 'nat' | 'filter'

export interface RuleObject {
  readonly table: IptablesTable
  readonly chain: string
  /** Undefined for a whole chain. */
  readonly key: string | undefined
}

export function parseRuleObject(id: string): RuleObject {
  const [table = '', chain = '', key] = id.split('\t')
  return { table: table as IptablesTable, chain, key }
}

/** Collects the objects of one owner. */
export class RuleObjects {
  readonly #objects = new Map<string, string>()

  chain(name: string, rules: readonly string[]): void {
    this.#objects.set(`nat\t${name}`, rules.join('\n'))
  }

  rule(table: IptablesTable, chain: string, { key, rule }: KeyedRule): void {
    this.#objects.set(`${table}\t${chain}\t${key}`, rule)
  }

  get fragment(): Fragment {
    return this.#objects
  }
}

export interface KeyedRule {
  readonly key: string
  readonly rule: string
}
