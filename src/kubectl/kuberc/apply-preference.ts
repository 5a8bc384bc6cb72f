import { UsageError, type Flags } from '#/base/flags.ts'
import { quote } from '#/api/text/quote.ts'
import { chooseCommand, firstArgument } from '../choose-command.ts'
import { commands, type CommandTable } from '../command-table.ts'
import type { Machine } from '../factory.ts'
import { invalidArgument } from '../flag-types.ts'
import { globalFlags } from '../global-flags.ts'
import { validatePluginPolicy } from './plugin-policy.ts'
import type { AliasOverride, CommandOptionDefault, Preference } from './preference.ts'

interface CommandLine {
  readonly words: readonly string[]
  readonly machine: Machine
}

/**
 * The words of a command line with the alias and the defaults that apply to it, and the machine with the policy for
 * credential plugins. Flags of the command line precede those of the preferences. Throws Error for invalid preferences.
 */
export async function applyPreference(
  preference: Preference,
  { words, machine }: CommandLine,
): Promise<CommandLine> {
  validatePreference(preference)
  const withPolicy = { ...machine, pluginPolicy: preference }
  const alias = aliasOf(preference, words)
  const applied =
    alias === undefined
      ? await withDefaults(preference, { words, machine })
      : await withAlias(alias, preference, words)
  return { words: applied, machine: withPolicy }
}

function validatePreference(preference: Preference): void {
  const names = new Set<string>()
  for (const { name, options = [] } of preference.aliases) {
    if (!/^[a-zA-Z]+$/.test(name)) {
      throw new Error('invalid alias name, can only include alphabetical characters')
    }
    validateOptions(options)
    if (names.has(name)) throw new Error(`duplicate alias name ${name}`)
    names.add(name)
  }
  for (const { options } of preference.defaults) validateOptions(options)
  validatePluginPolicy(preference)
}

function validateOptions(options: readonly CommandOptionDefault[]): void {
  const wrong = options.find(({ name }) => name.startsWith('-'))
  if (wrong) throw new Error(`flag name ${wrong.name} should be in long form without dashes`)
}

/** The alias that a command line begins with; commands cannot be replaced. */
function aliasOf({ aliases }: Preference, words: readonly string[]): AliasOverride | undefined {
  const first = firstArgument(words, globalFlags)
  if (first === undefined || chooseCommand(words) !== undefined) return undefined
  return aliases.find(({ name }) => name === first.word)
}

/** `getn x` becomes `get --output=wide nodes x`. */
async function withAlias(
  alias: AliasOverride,
  preference: Preference,
  words: readonly string[],
): Promise<readonly string[]> {
  const { name, command, options = [], prependArgs = [], appendArgs = [] } = alias
  const names = command.split(/\s+/).filter(each => each !== '')
  const found = await findByNames(names)
  if (found === undefined) {
    throw new Error(`command ${quote(command)} not found to set alias ${quote(name)}: [${names.join(' ')}]`)
  }
  if (preference.defaults.some(each => each.command.trim() === name)) {
    throw new Error(`alias ${name} can not be overridden`)
  }
  const { index } = firstArgument(words, globalFlags)!
  const given = optionsNotGiven({ options, flags: found.flags, words, place: `alias ${name}` })
  return [
    ...words.slice(0, index),
    ...names,
    ...given,
    ...prependArgs,
    ...words.slice(index + 1),
    ...appendArgs,
  ]
}

async function withDefaults(
  { defaults }: Preference,
  { words, machine }: CommandLine,
): Promise<readonly string[]> {
  if (defaults.length === 0) return words
  const chosen = await findByWords(words)
  if (chosen === undefined) return words
  const added: string[] = []
  for (const { command, options } of defaults) {
    const found = await findByNames(command.split(/\s+/).filter(each => each !== ''))
    if (found === undefined) {
      machine.streams.stderr.write(`Warning: command ${quote(command)} not found to set kuberc override\n`)
    } else if (found.path === chosen.path) {
      added.push(...optionsNotGiven({ options, flags: found.flags, words, place: `command ${command}` }))
    }
  }
  return [...added, ...words]
}

interface FoundCommand {
  /** `create configmap`. */
  readonly path: string
  /** Global flags included. */
  readonly flags: Flags
}

/** Words after the last command are ignored. */
async function findByNames(names: readonly string[]): Promise<FoundCommand | undefined> {
  return findByWords(names.filter(name => !name.startsWith('-')))
}

async function findByWords(words: readonly string[]): Promise<FoundCommand | undefined> {
  const path: string[] = []
  let table: CommandTable | undefined = commands
  let flags: Flags = globalFlags
  let rest = words
  while (table !== undefined) {
    const chosen = chooseCommand(rest, { table, flags })
    if (chosen === undefined) break
    const { command } = await chosen.entry.load()
    path.push(chosen.path)
    flags = { ...globalFlags, ...command.flags }
    table = command.subcommands
    rest = chosen.rest
  }
  return path.length === 0 ? undefined : { path: path.join(' '), flags }
}

interface OptionsRequest {
  readonly options: readonly CommandOptionDefault[]
  readonly flags: Flags
  readonly words: readonly string[]
  /** `command get`, `alias getn`. */
  readonly place: string
}

function optionsNotGiven({ options, flags, words, place }: OptionsRequest): readonly string[] {
  const isAlias = place.startsWith('alias ')
  return options.flatMap(({ name, default: value }) => {
    if (!Object.hasOwn(flags, name)) {
      throw new Error(
        isAlias ? `invalid alias flag ${name} in ${place}` : `invalid flag ${name} for ${place}`,
      )
    }
    const flag = flags[name]!
    if (isGiven(words, { name, shorthand: flag.shorthand })) return []
    try {
      flag.read([value])
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      const what = isAlias ? 'value' : 'override value'
      const reason = invalidArgument({ name, flag, text: value, reason: error.message })
      throw new Error(`could not apply ${what} ${value} to flag ${name} in ${place} err: ${reason}`, {
        cause: error,
      })
    }
    return [`--${name}=${value}`]
  })
}

interface FlagNames {
  readonly name: string
  readonly shorthand: string | undefined
}

/** `--output`, `--output=x`, `-o`, `-ox`, and letters that include the shorthand: `-wo`. */
function isGiven(words: readonly string[], { name, shorthand }: FlagNames): boolean {
  return words.some(
    word =>
      word === `--${name}` ||
      word.startsWith(`--${name}=`) ||
      (shorthand !== undefined &&
        (word.startsWith(`-${shorthand}`) || (/^-[a-zA-Z]+$/.test(word) && word.includes(shorthand)))),
  )
}
