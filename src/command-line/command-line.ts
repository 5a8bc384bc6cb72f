/**
 * Dispatches a command line to its command. Commands are a table of values; the code of a command is loaded
 * only when it is run. Each command parses its own parameters.
 */
import { UsageError } from '#/base/flags.ts'
import type { Command, Terminal } from './command.ts'

export type CommandTable = Readonly<Record<string, CommandEntry>>

export interface CommandEntry {
  /** One line for the list of commands. */
  readonly summary: string
  readonly load: () => Promise<{ readonly command: Command }>
}

/** Runs the command and resolves to the exit code: 0 success, 1 failure, 2 usage error. */
export async function runCommandLine(
  commands: CommandTable,
  words: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const [name = '--help', ...parameters] = words
  if (isHelp(name)) {
    terminal.write(overview(commands))
    return 0
  }
  if (!Object.hasOwn(commands, name)) {
    const what = name.startsWith('-') ? 'option' : 'command'
    terminal.writeError(`k8ts: unknown ${what} ${JSON.stringify(name)}; see k8ts --help\n`)
    return 2
  }
  const { command } = await commands[name]!.load()
  if (isHelp(parameters[0]) && command.help !== undefined) {
    terminal.write(command.help)
    return 0
  }
  try {
    return await command.run(parameters, terminal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    terminal.writeError(`k8ts ${name}: ${error.message}\nSee k8ts ${name} --help\n`)
    return 2
  }
}

/** True for `--help` and `-h`. */
export function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

function overview(commands: CommandTable): string {
  const entries = Object.entries(commands)
  const width = Math.max(...entries.map(([name]) => name.length))
  const lines = entries.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`)
  return `k8ts is Kubernetes, whole, in TypeScript.

Usage: k8ts COMMAND [PARAMETERS]

Commands:
${lines.join('')}
See k8ts COMMAND --help for a command.
`
}
