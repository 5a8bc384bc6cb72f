import type { IpFamily } from '#/api/net/ip.ts'
import type { ProxyNetwork } from '../nftables.ts'
import type { AffinityEntry } from './affinity.ts'
import { baseRules } from './base-rules.ts'
import { parseObjectId, type ObjectName } from './objects.ts'
import type { Change } from './ruleset.ts'
import { tableFamily } from './table-family.ts'

export interface WholeTable {
  readonly family: IpFamily
  readonly network: ProxyNetwork
  readonly objects: ReadonlyMap<string, string>
  /** Affinity entries of the previous table. */
  readonly affinity: readonly AffinityEntry[]
}

/** Replaces the table regardless of its content. */
export function wholeText({ family, network, objects, affinity }: WholeTable): string {
  const table = `${tableFamily(family).name} ${network.table}`
  const changes = [...objects].map(([id, after]) => ({ id, before: undefined, after }))
  const clients = affinity.map(({ set, client, expiresSeconds, timeoutSeconds }) => {
    const times = `timeout ${timeoutSeconds}s expires ${expiresSeconds}s`
    return `add element ${table} ${set} { ${client} ${times} }`
  })
  return [
    deleteTable(family, network.table),
    ...baseRules(family, network).map(line => `${line}\n`),
    changesText(changes, { family, table: network.table }),
    ...clients.map(line => `${line}\n`),
  ].join('')
}

/**
 * Commands for the changes, ordered so that all references exist. Unused chains are flushed but not deleted.
 */
export function changesText(
  changes: readonly Change[],
  { family, table: name }: { readonly family: IpFamily; readonly table: string },
): string {
  const { name: familyName, address } = tableFamily(family)
  const table = `${familyName} ${name}`
  const named = changes.map(change => ({ ...change, ...parseObjectId(change.id) }))
  const chains = named.filter(({ type }) => type === 'chain')
  const sets = named.filter(({ type }) => type === 'set')
  const elements = named.filter(({ type }) => type === 'element')
  const commands = [
    ...chains.filter(isNew).map(({ name }) => `add chain ${table} ${name}`),
    ...sets.filter(isNew).map(({ name }) => {
      return `add set ${table} ${name} { type ${address} ; flags dynamic,timeout ; }`
    }),
    ...chains.flatMap(({ name, before, after }) => [
      ...(before === undefined ? [] : [`flush chain ${table} ${name}`]),
      ...(after?.split('\n') ?? []).map(rule => `add rule ${table} ${name} ${rule}`),
    ]),
    ...elementCommands(
      `delete element ${table}`,
      elements.filter(({ before }) => before !== undefined),
      ({ key }) => key,
    ),
    ...elementCommands(
      `add element ${table}`,
      elements.filter(({ after }) => after !== undefined),
      ({ key, after }) => {
        return after === '' ? key : `${key} : ${after}`
      },
    ),
    ...sets.filter(({ after }) => after === undefined).map(({ name }) => `delete set ${table} ${name}`),
  ]
  return commands.map(line => `${line}\n`).join('')
}

/** Names of the changed chains: those no longer wanted, and those in use. */
export function chainsOf(changes: readonly Change[]): {
  readonly gone: readonly string[]
  readonly used: readonly string[]
} {
  const chains = changes
    .map(change => ({ ...change, ...parseObjectId(change.id) }))
    .filter(({ type }) => type === 'chain')
  const names = (isWanted: (change: Change) => boolean): readonly string[] =>
    chains.filter(isWanted).map(({ name }) => name)
  return { gone: names(({ after }) => after === undefined), used: names(({ after }) => after !== undefined) }
}

/** Adding the table first makes the deletion succeed whether or not it exists. */
export function deleteTable(family: IpFamily, table: string): string {
  const name = `${tableFamily(family).name} ${table}`
  return `add table ${name}\ndelete table ${name}\n`
}

type NamedChange = Change & ObjectName

function isNew({ before }: Change): boolean {
  return before === undefined
}

/**
 * One command per map: thousands of commands take the kernel much longer than one with thousands of elements.
 */
function elementCommands(
  command: string,
  elements: readonly NamedChange[],
  textOf: (change: NamedChange) => string,
): readonly string[] {
  const byMap = Map.groupBy(elements, ({ name }) => name)
  return [...byMap].map(([map, own]) => `${command} ${map} { ${own.map(textOf).join(', ')} }`)
}
