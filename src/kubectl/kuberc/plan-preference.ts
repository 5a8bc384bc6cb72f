import { quote } from '#/api/text/quote.ts'
import type { AliasOverride, AllowlistEntry, CommandOptionDefault, Preference } from './preference.ts'

/** A change of a kuberc file by `kuberc set`. */
export interface PreferenceChange {
  /** `defaults`, `aliases` or `credentialplugin`. */
  readonly section: string
  readonly command: string
  /** Of the alias. */
  readonly name: string
  /** FLAG=VALUE. */
  readonly options: readonly string[]
  readonly prependArgs: readonly string[]
  readonly appendArgs: readonly string[]
  readonly overwrite: boolean
  readonly policy: string
  /** `command=NAME`. */
  readonly allowlistEntries: readonly string[]
}

/** Throws Error if an entry exists already and may not be replaced, and for invalid texts. */
export function planPreference(preference: Preference, change: PreferenceChange): Preference {
  const options = change.options.map(readOption)
  switch (change.section) {
    case 'defaults':
      return { ...preference, defaults: planDefaults(preference, { change, options }) }
    case 'aliases':
      return { ...preference, aliases: planAliases(preference, { change, options }) }
  }
  const { policy, allowlistEntries } = change
  const { credentialPluginAllowlist: _replaced, ...others } = preference
  const allowlist = policy === 'Allowlist' && { credentialPluginAllowlist: readEntries(allowlistEntries) }
  return { ...others, credentialPluginPolicy: policy, ...allowlist }
}

function readOption(text: string): CommandOptionDefault {
  const [, name, value] = /^([^=]*)=([^]*)$/.exec(text) ?? []
  if (name === undefined) throw new Error(`invalid option format ${quote(text)}, expected flag=value`)
  return { name: name.replace(/^-+/, ''), default: value! }
}

interface PlannedOptions {
  readonly change: PreferenceChange
  readonly options: readonly CommandOptionDefault[]
}

function planDefaults({ defaults }: Preference, { change, options }: PlannedOptions): Preference['defaults'] {
  const { command, overwrite } = change
  const existing = defaults.find(each => each.command === command)
  if (existing === undefined) return [...defaults, { command, options }]
  if (!overwrite) {
    throw new Error(`defaults for command ${quote(command)} already exist, use --overwrite to replace`)
  }
  const replaced = { command, options: options.length > 0 ? options : existing.options }
  return defaults.map(each => (each === existing ? replaced : each))
}

function planAliases({ aliases }: Preference, { change, options }: PlannedOptions): Preference['aliases'] {
  const { name, command, overwrite } = change
  const existing = aliases.find(each => each.name === name)
  if (existing !== undefined && !overwrite) {
    throw new Error(`alias ${quote(name)} already exists, use --overwrite to replace`)
  }
  const alias: AliasOverride = {
    name,
    command,
    ...list('prependArgs', change.prependArgs, existing?.prependArgs),
    ...list('appendArgs', change.appendArgs, existing?.appendArgs),
    ...list('options', options, existing?.options),
  }
  return existing === undefined
    ? [...aliases, alias]
    : aliases.map(each => (each === existing ? alias : each))
}

/** What was not given is kept; an empty list is left out. */
function list<T>(name: string, given: readonly T[], kept: readonly T[] = []): Record<string, readonly T[]> {
  const values = given.length > 0 ? given : kept
  return values.length > 0 ? { [name]: values } : {}
}

/** Throws Error, AggregateError for several invalid entries. */
function readEntries(texts: readonly string[]): readonly AllowlistEntry[] {
  const errors: Error[] = []
  const entries = texts
    .flatMap(text => text.split(','))
    .flatMap(text => {
      const problem = entryProblem(text)
      if (problem === undefined) return [{ command: text.slice('command='.length) }]
      errors.push(new Error(problem))
      return []
    })
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors)
  return entries
}

function entryProblem(text: string): string | undefined {
  const [, field, value = ''] = /^([^=]*)=([^]*)$/.exec(text) ?? []
  if (field === undefined) return `improperly formatted allowlist entry: ${quote(text)}`
  if (field === 'name') return 'allowlist entry field "name" is deprecated, use "command" instead'
  if (field !== 'command') return `unrecognized allowlist entry field: ${quote(field)}`
  return value.trim() === '' ? `empty value in allowlist entry for field ${quote(field)}` : undefined
}
