/** Finds the command of a command line: its name may come after flags. */
import type { Flag, Flags } from '#/base/flags.ts'
import { findCommand } from './command.ts'
import { commands, type CommandEntry, type CommandTable } from './command-table.ts'
import { globalFlags } from './global-flags.ts'

export interface ChosenEntry {
  readonly entry: CommandEntry
  /** Name in the table, also if an alias was given. */
  readonly path: string
  /** Without the name. */
  readonly rest: readonly string[]
}

interface Choice {
  readonly table: CommandTable
  /** Those that may come before the command. */
  readonly flags: Flags
}

/** Global flags may come before the command, and flags of a command before its subcommand: `kubectl -n shop get`. */
export function chooseCommand(
  words: readonly string[],
  { table, flags }: Choice = { table: commands, flags: globalFlags },
): ChosenEntry | undefined {
  const first = firstArgument(words, flags)
  const entry = first && findCommand(table, first.word)
  if (first === undefined || entry === undefined) return undefined
  const path = Object.keys(table).find(name => table[name] === entry)!
  return { entry, path, rest: words.toSpliced(first.index, 1) }
}

/** The first word that is neither a flag nor the value of a flag. */
export function firstArgument(
  words: readonly string[],
  flags: Flags,
): { readonly word: string; readonly index: number } | undefined {
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (word === '--') return undefined
    if (!word.startsWith('-') || word === '-') return { word, index }
    if (takesNextWord(word, flags)) index++
  }
  return undefined
}

/** An unknown flag is assumed to have a value. */
function takesNextWord(word: string, flags: Flags): boolean {
  if (word.includes('=') || word === '--help' || word === '-h') return false
  if (word.startsWith('--')) {
    const flag = flags[word.slice(2)]
    return flag === undefined || takesValue(flag)
  }
  if (word.length !== 2) return false
  const flag = Object.entries(flags).find(
    ([name, { shorthand }]) => (shorthand ?? name) === word.slice(1),
  )?.[1]
  return flag === undefined || takesValue(flag)
}

function takesValue({ value, bareValue }: Flag<unknown>): boolean {
  return value !== undefined && bareValue === undefined
}
