/** Commands with verbs that share their flags, such as `k8ts snapshot save`. */
import { parseArgumentsAndFlags, UsageError, type Flags, type FlagValues } from '#/base/flags.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { isHelp } from '#/command-line/command-line.ts'
import { nodePlatform, type Platform } from '#/platform/node.ts'

export interface Invocation<F extends Flags> {
  readonly platform: Platform
  readonly terminal: Terminal
  /** Arguments that are not flags. */
  readonly words: readonly string[]
  readonly flags: FlagValues<F>
}

export interface VerbsOptions<F extends Flags> {
  /** Name of the command. */
  readonly name: string
  readonly help: string
  readonly flags: F
  /** False if the verbs take flags only. */
  readonly takesArguments: boolean
  readonly verbs: ReadonlyMap<string, (invocation: Invocation<F>) => Promise<number>>
}

export function commandWithVerbs<F extends Flags>(options: VerbsOptions<F>): Command {
  const { name, help, flags, takesArguments, verbs } = options
  return {
    help,
    async run([verb = '', ...rest], terminal) {
      if (isHelp(rest[0])) {
        terminal.write(help)
        return 0
      }
      const act = verbs.get(verb)
      if (act === undefined) throw new UsageError(`usage: k8ts ${name} ${[...verbs.keys()].join('|')}`)
      const { words, values } = parseArgumentsAndFlags(rest, flags)
      if (words[0] !== undefined && !takesArguments) throw new UsageError(`unexpected argument ${words[0]}`)
      const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
      return act({ platform, terminal, words, flags: values })
    },
  }
}
