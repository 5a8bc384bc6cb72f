/** Commands with subcommands that each have their own flags, such as `k8ts token create`. */
import {
  describeFlags,
  parseArgumentsAndFlags,
  UsageError,
  type Flags,
  type FlagValues,
} from '#/base/flags.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { isHelp } from '#/command-line/command-line.ts'
import { nodePlatform, type Platform } from '#/platform/node.ts'

export interface SubcommandInvocation<F extends Flags> {
  readonly platform: Platform
  readonly terminal: Terminal
  /** Arguments that are not flags. */
  readonly words: readonly string[]
  readonly flags: FlagValues<F>
}

export interface SubcommandOptions<F extends Flags> {
  /** The arguments in the usage line: `[TOKEN]`. */
  readonly usage?: string
  readonly summary: string
  readonly flags: F
  readonly maxArguments: number
  run(invocation: SubcommandInvocation<F>): Promise<number>
}

export interface Subcommand {
  readonly usage: string
  readonly summary: string
  readonly flagsHelp: string
  run(parameters: readonly string[], terminal: Terminal): Promise<number>
}

export function subcommand<F extends Flags>(options: SubcommandOptions<F>): Subcommand {
  const { usage = '', summary, flags, maxArguments } = options
  return {
    usage,
    summary,
    flagsHelp: describeFlags(flags),
    run(parameters, terminal) {
      const { words, values } = parseArgumentsAndFlags(parameters, flags)
      const unexpected = words[maxArguments]
      if (unexpected !== undefined) throw new UsageError(`unexpected argument ${unexpected}`)
      const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
      return options.run({ platform, terminal, words, flags: values })
    },
  }
}

export interface SubcommandsOptions {
  /** Name of the command. */
  readonly name: string
  readonly summary: string
  /** What runs without the name of a subcommand. */
  readonly whole?: Subcommand
  readonly subcommands: Readonly<Record<string, Subcommand>>
  /** Examples, with a line break at the end. */
  readonly examples: string
}

export function commandWithSubcommands({
  name,
  summary,
  whole,
  subcommands,
  examples,
}: SubcommandsOptions): Command {
  const names = Object.keys(subcommands)
  const usageOf = (words: string, { usage, flagsHelp }: Subcommand): string =>
    [`k8ts ${words}`, usage, flagsHelp && '[FLAGS]'].filter(Boolean).join(' ')
  const usages = [
    ...(whole ? [usageOf(name, whole)] : []),
    ...names.map(each => usageOf(`${name} ${each}`, subcommands[each]!)),
  ]
  const width = Math.max(...names.map(each => each.length))
  const list = names.map(each => `  ${each.padEnd(width)}  ${subcommands[each]!.summary}\n`).join('')
  const help = `Usage: ${usages.join('\n       ')}

${summary}

${list}${whole ? `\n${whole.flagsHelp}` : ''}
Examples:
${examples}${whole ? '' : `See k8ts ${name} ${names[0]} --help for the flags.\n`}`
  return {
    help,
    async run(given, terminal) {
      const [word = '', ...parameters] = given
      const chosen = Object.hasOwn(subcommands, word) ? subcommands[word] : undefined
      if (chosen === undefined && whole) return whole.run(given, terminal)
      if (chosen === undefined) throw new UsageError(`usage: k8ts ${name} ${names.join('|')}`)
      if (!parameters.some(isHelp)) return chosen.run(parameters, terminal)
      terminal.write(
        `Usage: ${usageOf(`${name} ${word}`, chosen)}\n\n${chosen.summary}.\n\n${chosen.flagsHelp}`,
      )
      return 0
    },
  }
}
