/** The help of commands: description, examples, subcommands, flags, usage. */
import type { Flags } from '#/base/flags.ts'
import { similarWords } from './closest-word.ts'
import type { Command } from './command.ts'
import { commandGroups, pluginGroup, type CommandTable } from './command-table.ts'
import type { Machine } from './factory.ts'
import type { KubectlFlag } from './flag-types.ts'

interface CommandPlace {
  /** `kubectl`, `rollout`, `status`. */
  readonly path: readonly string[]
  readonly aliases: readonly string[]
}

export function describeCommand(command: Command, { path, aliases }: CommandPlace): string {
  const { description, examples, subcommands, flags, run } = command
  const commandPath = path.join(' ')
  const parents = path.slice(0, -1).join(' ')
  const usages = [
    ...(run ? [`  ${parents} ${command.usage}${Object.keys(flags).length > 0 ? ' [options]' : ''}\n`] : []),
    ...(subcommands && !run ? [`  ${commandPath} SUBCOMMAND [options]\n`] : []),
  ]
  return [
    `${description}\n\n`,
    aliases.length > 0 ? `Aliases:\n${[path.at(-1), ...aliases].join(', ')}\n\n` : '',
    examples ? `Examples:\n${examples}\n\n` : '',
    subcommands ? `Available Commands:\n${describeEntries(subcommands)}\n` : '',
    Object.keys(flags).length > 0 ? `Options:\n${describeOptions(flags)}\n` : '',
    `Usage:\n${usages.join('')}\n`,
    subcommands ? `Use "${commandPath} <command> --help" for more information about a given command.\n` : '',
    'Use "kubectl options" for a list of global command-line options (applies to all commands).\n',
  ].join('')
}

/** The help of kubectl itself, with its commands in groups. */
export async function describeCommands(commands: CommandTable, machine: Machine): Promise<string> {
  const { pluginCommands } = await import('./plugins.ts')
  const plugins = await pluginCommands(machine)
  const width = nameWidth(commands)
  const groups = commandGroups.map(group => {
    if (group === pluginGroup) return `${group}:\n${describeEntries(plugins)}\n`
    const members = Object.entries(commands).filter(([, entry]) => entry.group === group)
    return `${group}:\n${describeEntries(Object.fromEntries(members), width)}\n`
  })
  return `kubectl controls the Kubernetes cluster manager.

 Find more information at: https://kubernetes.io/docs/reference/kubectl/

${groups.join('')}Usage:
  kubectl [flags] [options]

Use "kubectl <command> --help" for more information about a given command.
Use "kubectl options" for a list of global command-line options (applies to all commands).
`
}

const nameWidthMin = 11

function nameWidth(commands: CommandTable): number {
  return Math.max(nameWidthMin, ...Object.keys(commands).map(name => name.length))
}

function describeEntries(commands: CommandTable, width = nameWidth(commands)): string {
  return Object.entries(commands)
    .filter(([, { hidden }]) => !hidden)
    .map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}\n`)
    .join('')
}

/** Sorted by name, each with its default and a tab before the help. */
export function describeOptions(flags: Flags): string {
  return Object.entries(flags)
    .map(([name, flag]) => [name, flag as KubectlFlag<unknown>] as const)
    .filter(([, { hidden, deprecated }]) => !hidden && !deprecated)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { shorthand, shownDefault, help }]) => {
      const names = shorthand === undefined ? `--${name}` : `-${shorthand}, --${name}`
      return `    ${names}=${shownDefault}:\n\t${help}\n`
    })
    .join('\n')
}

/** Lines that suggest commands with a similar name; empty if there are none. */
export function similarCommands(table: CommandTable, word: string): string {
  const names = Object.keys(table).filter(name => !table[name]!.hidden)
  const similar = similarWords(word, names)
  return similar.length === 0 ? '' : `Did you mean this?\n${similar.map(name => `\t${name}\n`).join('')}`
}
