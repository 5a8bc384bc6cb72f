import { parseArgumentsAndFlags, type Flag, type Flags } from '#/base/flags.ts'
import { chooseCommand, firstArgument } from '../choose-command.ts'
import { commands, type CommandTable } from '../command-table.ts'
import type { Command } from '../command.ts'
import { Factory, type Machine } from '../factory.ts'
import { boolFlag, type KubectlFlag } from '../flag-types.ts'
import { globalFlags } from '../global-flags.ts'
import { completeArgument } from './complete-argument.ts'
import { completeFlagValue } from './complete-flag-value.ts'
import { directives, type Completion } from './completion.ts'

/**
 * Completes the last of the words, in the protocol of cobra that shell scripts use: `kubectl __complete get po`.
 * Errors, such as an unreachable server, complete to nothing.
 */
export async function complete(given: readonly string[], machine: Machine): Promise<Completion> {
  const last = given.at(-1) ?? ''
  const before = await withAlias(given.slice(0, -1), machine)
  if (before[0] === 'help') return completeHelp(before.slice(1), last)
  const found = await commandOf(before)
  if (found.command === undefined) {
    const { completePlugin } = await import('./complete-plugin.ts')
    const completion = await completePlugin({ words: before, last, machine })
    if (completion !== undefined) return completion
  }
  return completeCommand(found, last, machine)
}

async function completeCommand(
  { command, table, rest, path }: FoundCommand,
  last: string,
  machine: Machine,
): Promise<Completion> {
  const flags: Flags = { ...globalFlags, ...command?.flags, help: helpFlag }
  const { values, words: args, texts } = givenFlags(rest, flags)
  await using factory = new Factory(machine, values)
  const request = { path: path.join(' '), args, texts }
  const awaiting = flagAwaitingValue(rest, flags)
  if (awaiting !== undefined) {
    return await completeFlagValue(factory, { ...request, flag: awaiting, prefix: last })
  }
  const written = flagWithValue(last, flags)
  if (written !== undefined) return await completeFlagValue(factory, { ...request, ...written })
  if (last.startsWith('-') && !rest.includes('--')) {
    return { candidates: flagNames(flags, texts, last), directive: directives.noFiles }
  }
  const named = args.length === 0 ? namesOf(table, last) : []
  const isInCommand = command?.run !== undefined || args.length > 0
  if (named.length > 0 || !isInCommand) return { candidates: named, directive: directives.noFiles }
  const { candidates, directive } = await completeArgument(factory, { ...request, prefix: last })
  return { candidates: [...requiredFlags(command?.flags ?? {}, texts, last), ...candidates], directive }
}

async function completeHelp(words: readonly string[], last: string): Promise<Completion> {
  const { table: found } = await commandOf(words)
  const table = found === commands ? { ...found, options: { ...found['options']!, hidden: false } } : found
  return { candidates: namesOf(table, last), directive: directives.noFiles }
}

const helpFlag = boolFlag('Show the help of the command.', { shorthand: 'h' })

interface FoundCommand {
  readonly command: Command | undefined
  /** Commands that may follow. */
  readonly table: CommandTable
  /** Words after the command. */
  readonly rest: readonly string[]
  readonly path: readonly string[]
}

async function commandOf(words: readonly string[]): Promise<FoundCommand> {
  let found: FoundCommand = { command: undefined, table: commands, rest: words, path: [] }
  for (;;) {
    const flags: Flags = { ...globalFlags, ...found.command?.flags }
    const chosen = chooseCommand(found.rest, { table: found.table, flags })
    if (chosen === undefined) return found
    const { command } = await chosen.entry.load()
    const path = [...found.path, chosen.path]
    found = { command, table: command.subcommands ?? {}, rest: chosen.rest, path }
  }
}

/** The command line with the alias of the user's preferences that it begins with. */
async function withAlias(words: readonly string[], machine: Machine): Promise<readonly string[]> {
  if (firstArgument(words, globalFlags) === undefined || chooseCommand(words) !== undefined) return words
  try {
    const { loadPreference } = await import('../kuberc/load-preference.ts')
    const preference = await loadPreference(words, machine)
    if (preference === undefined) return words
    const { applyPreference } = await import('../kuberc/apply-preference.ts')
    return (await applyPreference(preference, { words, machine })).words
  } catch {
    return words
  }
}

function namesOf(table: CommandTable, prefix: string): readonly string[] {
  const help = Object.hasOwn(table, 'options')
    ? [['help', { summary: 'Help about any command' }] as const]
    : []
  return [...Object.entries(table).filter(([, { hidden }]) => !hidden), ...help]
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, { summary }]) => `${name}\t${summary}`)
    .sort()
}

type GivenTexts = ReadonlyMap<string, readonly string[]>

/** Flags that may be repeated are offered again. */
function flagNames(flags: Flags, given: GivenTexts, prefix: string): readonly string[] {
  return Object.entries(flags)
    .map(([name, flag]) => [name, flag as KubectlFlag<unknown>] as const)
    .filter(([, { hidden, deprecated }]) => !hidden && !deprecated)
    .filter(([name, { shownDefault }]) => !given.has(name) || shownDefault === '[]')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { shorthand, help }]) => {
      const names = [`--${name}`, ...(shorthand === undefined ? [] : [`-${shorthand}`])]
      return names.filter(each => each.startsWith(prefix)).map(each => `${each}\t${help}`)
    })
}

function requiredFlags(flags: Flags, given: GivenTexts, prefix: string): readonly string[] {
  return Object.entries(flags)
    .filter(([name, flag]) => (flag as KubectlFlag<unknown>).required && !given.has(name))
    .filter(([name]) => `--${name}`.startsWith(prefix))
    .map(([name, { help }]) => `--${name}\t${help}`)
}

/** The name of the flag whose value is the next word. */
function flagAwaitingValue(words: readonly string[], flags: Flags): string | undefined {
  const word = words.at(-1) ?? ''
  if (!word.startsWith('-') || word.includes('=') || words.includes('--')) return undefined
  const written = word.replace(/^--?/, '')
  const name = word.startsWith('--') ? written : nameOf(written.at(-1) ?? '', flags)
  if (name === undefined || !Object.hasOwn(flags, name)) return undefined
  return takesValue(flags[name]!) ? name : undefined
}

function takesValue({ value, bareValue }: Flag<unknown>): boolean {
  return value !== undefined && bareValue === undefined
}

function nameOf(shorthand: string, flags: Flags): string | undefined {
  return Object.keys(flags).find(each => flags[each]!.shorthand === shorthand)
}

/** `--output=j`, `-o=j`. */
function flagWithValue(
  word: string,
  flags: Flags,
): { readonly flag: string; readonly prefix: string } | undefined {
  const [, name = '', letter = '', prefix] = /^(?:--([^=]+)|-\w*(\w))=([^]*)$/.exec(word) ?? []
  const flag = name || nameOf(letter, flags)
  if (prefix === undefined || flag === undefined || !Object.hasOwn(flags, flag)) return undefined
  return { flag, prefix }
}

/** The last word may be a flag without its value. */
function givenFlags(words: readonly string[], flags: Flags) {
  for (const given of [words, words.slice(0, -1), []]) {
    try {
      return parseArgumentsAndFlags(given, flags)
    } catch {
      // Words that are not valid yet are ignored.
    }
  }
  return { words: [], values: {}, texts: new Map<string, readonly string[]>() }
}
