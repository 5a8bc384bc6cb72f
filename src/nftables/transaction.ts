/**
 * Changes of tables as commands for `nft -f`, which executes its whole input as one transaction of the kernel.
 */
import type { IpFamily } from '#/api/net/ip.ts'
import { parseObjectId, type ObjectName } from './objects.ts'
import type { Change } from './ruleset.ts'
import { tableFamily } from './table-family.ts'

export interface TableName {
  readonly family: IpFamily
  readonly table: string
}

/**
 * Commands for the changes, ordered so that all references exist. Unused chains are flushed but not deleted.
 */
export function changesText(changes: readonly Change[], { family, table: name }: TableName): string {
  const table = `${tableFamily(family).name} ${name}`
  const named = changes.map(change => ({ ...change, ...parseObjectId(change.id) }))
  const chains = named.filter(({ type }) => type === 'chain')
  const sets = named.filter(({ type }) => type === 'set')
  const elements = named.filter(({ type }) => type === 'element')
  const commands = [
    ...chains.filter(isNew).map(({ name }) => `add chain ${table} ${name}`),
    ...sets.filter(isNew).map(({ name, after }) => `add set ${table} ${name} { ${after} }`),
    ...chains.flatMap(({ name, before, after }) => [
      ...(before === undefined ? [] : [`flush chain ${table} ${name}`]),
      ...(after?.split('\n').filter(Boolean) ?? []).map(rule => `add rule ${table} ${name} ${rule}`),
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
export function deleteTable({ family, table }: TableName): string {
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
