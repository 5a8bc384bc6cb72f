/**
 * A kubectl command as a value: usage, help, flags and a function to run. Commands are in `commands/`, one file each,
 * and are loaded when they are run.
 */
import type { Flags, FlagValues } from '#/base/flags.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { CommandEntry, CommandTable } from './command-table.ts'
import type { Factory } from './factory.ts'

export interface Command {
  /** Without `kubectl` and the names of parent commands: `get [(-o|--output=)json|...] TYPE [flags]`. */
  readonly usage: string
  /** Without a line break at the end. */
  readonly description: string
  /** Indented by two spaces, with a comment line before each example. */
  readonly examples?: string
  readonly flags: Flags
  readonly subcommands?: CommandTable
  /** Of errors without an exit code of their own; 1 if absent. */
  readonly errorExitCode?: number
  /** Absent if only the subcommands can be run. */
  readonly run?: (invocation: Invocation) => Promise<number | void>
}

export interface Invocation<F extends Flags = Flags> {
  readonly args: readonly string[]
  /** Number of arguments before `--`; absent without `--`. */
  readonly dashIndex?: number
  /** The flags of the command that were given; global flags are in `factory`. */
  readonly flags: FlagValues<F>
  /** All flags that were given, global ones included, with their texts. */
  readonly flagTexts: ReadonlyMap<string, readonly string[]>
  readonly factory: Factory
  readonly streams: IOStreams
  /** `kubectl rollout status`. */
  readonly commandPath: string
}

export interface CommandOptions<F extends Flags> extends Omit<Command, 'flags' | 'run'> {
  readonly flags: F
  /** Resolves to the exit code, 0 if undefined. Errors are thrown. */
  readonly run: (invocation: Invocation<F>) => Promise<number | void>
}

export function defineCommand<F extends Flags>({ run, ...command }: CommandOptions<F>): Command {
  return { ...command, run: invocation => run(invocation as Invocation<F>) }
}

/** The entry with this name or alias. */
export function findCommand(table: CommandTable, word: string): CommandEntry | undefined {
  if (Object.hasOwn(table, word)) return table[word]
  return Object.values(table).find(({ aliases }) => aliases?.includes(word))
}
