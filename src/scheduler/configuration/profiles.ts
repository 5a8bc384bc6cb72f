import { messageOf } from '#/base/message-of.ts'
import { quote } from '#/api/text/quote.ts'
import type { Extenders } from '../extenders.ts'
import type { Plugin, PluginHandle, PluginFactory } from '../framework.ts'
import type { PluginEntry } from '../plugins.ts'
import { profileOf, type ExtensionPoint, type ProfileFactory, type Profile } from '../profile.ts'
import type { PointName, ProfileFields } from './fields.ts'
import { readPluginArgs } from './plugin-args.ts'
import { pluginSets, type ExtensionPointName } from './plugin-sets.ts'
import { ConfigurationError } from './schema.ts'

export interface ProfileSettings {
  readonly schedulerName: string
  readonly percentageOfNodesToScore: number
  readonly fields: ProfileFields
  /** Path in the file: `profiles[0]`. */
  readonly field: string
  /** Out-of-tree plugins. */
  readonly imported: ReadonlyMap<string, PluginFactory>
  /** Resources managed by an extender with `ignoredByScheduler`, which NodeResourcesFit skips. */
  readonly ignoredResources: readonly string[]
}

export interface ProfilesParts {
  readonly settings: readonly ProfileSettings[]
  /** The in-tree plugins, all enabled by default. */
  readonly defaults: ReadonlyMap<string, PluginEntry>
  readonly extenders: Extenders
}

/** The plugin function of each extension point of the configuration. */
const functions: Readonly<Record<ExtensionPointName, ExtensionPoint>> = {
  preEnqueue: 'preEnqueue',
  queueSort: 'queueSort',
  filter: 'preFilter',
  postFilter: 'postFilter',
  score: 'score',
  reserve: 'reserve',
  permit: 'permit',
  preBind: 'preBind',
  bind: 'bind',
  postBind: 'postBind',
}

const points = new Map(Object.entries(functions).map(([point, name]) => [name, point as ExtensionPointName]))

/**
 * Throws ConfigurationError. The returned function throws it too, because plugins validate their args on
 * creation.
 */
export function configuredProfiles({ settings, defaults, extenders }: ProfilesParts): ProfileFactory {
  const plans = settings.map(each => ({ ...each, ...planPlugins(each, defaults) }))
  return handle => plans.map(plan => makeProfile(plan, handle, extenders))
}

interface PluginPlan {
  readonly sets: ReturnType<typeof pluginSets>
  readonly makers: ReadonlyMap<string, (handle: PluginHandle) => Plugin>
}

/** Resolves the plugins of a profile with their factories and args. */
function planPlugins(settings: ProfileSettings, defaults: ReadonlyMap<string, PluginEntry>): PluginPlan {
  const { fields, field, imported } = settings
  const usual = [...defaults].map(([name, { weight = 1 }]) => ({ name, weight }))
  const sets = pluginSets(usual, fields.plugins ?? {})
  const configured = (fields.pluginConfig ?? []).map(({ name = '', args }, index) => {
    const at = `${field}.pluginConfig[${index}].args`
    return [name, { field: at, args: readPluginArgs(name, args, at) }] as const
  })
  const argsByPlugin = new Map(configured)
  const makers = sets.all.map(({ name }) => {
    const make = imported.get(name) ?? defaults.get(name)?.make
    if (make === undefined) throw new ConfigurationError(`${whereNamed(settings, name)}: ${noSuch(name)}`)
    const { args = {}, field: at = `${field}.plugins` } = argsByPlugin.get(name) ?? {}
    return [name, pluginMaker({ name, make, field: at, args: withIgnored(name, args, settings) })] as const
  })
  return { sets, makers: new Map(makers) }
}

function noSuch(name: string): string {
  const wayOut = 'an out-of-tree plugin needs a pluginConfig entry with an import path'
  return `plugin ${quote(name)} does not exist; ${wayOut}`
}

/** Path of the first mention of a plugin. */
function whereNamed({ fields, field }: ProfileSettings, name: string): string {
  for (const [point, { enabled = [] }] of Object.entries(fields.plugins ?? {})) {
    const index = enabled.findIndex(plugin => plugin.name === name)
    if (index >= 0) return `${field}.plugins.${point}.enabled[${index}]`
  }
  return `${field}.plugins`
}

function withIgnored(
  plugin: string,
  args: Readonly<Record<string, unknown>>,
  { ignoredResources }: ProfileSettings,
): Readonly<Record<string, unknown>> {
  if (plugin !== 'NodeResourcesFit' || ignoredResources.length === 0) return args
  const said = (args['ignoredResources'] ?? []) as readonly string[]
  return { ...args, ignoredResources: [...said, ...ignoredResources] }
}

interface PluginMakerOptions {
  readonly name: string
  readonly make: PluginFactory
  /** Path of the args in the configuration, for error messages. */
  readonly field: string
  readonly args: Readonly<Record<string, unknown>>
}

function pluginMaker({ name, make, field, args }: PluginMakerOptions): (handle: PluginHandle) => Plugin {
  return handle => {
    try {
      const plugin = make(handle, args)
      if (plugin.name === name) return plugin
      throw new Error(`the plugin has the name ${quote(plugin.name)}`)
    } catch (cause) {
      const reason = messageOf(cause)
      throw new ConfigurationError(`${field}: initializing plugin ${quote(name)}: ${reason}`, { cause })
    }
  }
}

function makeProfile(
  plan: ProfileSettings & PluginPlan,
  handle: PluginHandle,
  extenders: Extenders,
): Profile {
  const { sets, makers, field, schedulerName, percentageOfNodesToScore } = plan
  const plugins = new Map([...makers].map(([name, make]) => [name, make(handle)]))
  const at = (point: ExtensionPoint): readonly Plugin[] => {
    const name = points.get(point)!
    const implementsPoint = (plugin: string): boolean => plugins.get(plugin)?.[point] !== undefined
    return sets.at(name, implementsPoint).map(each => {
      if (implementsPoint(each)) return plugins.get(each)!
      const place = `${whereEnabled(plan, name, each)}: plugin ${quote(each)}`
      throw new ConfigurationError(`${place} does not extend ${name} plugin`)
    })
  }
  const sorters = at('queueSort').length
  if (sorters !== 1) {
    const found = `only one queue sort plugin required for profile with scheduler name ${quote(schedulerName)}`
    throw new ConfigurationError(`${field}.plugins.queueSort: ${found}, but got ${sorters}`)
  }
  if (at('bind').length === 0) {
    const needed = `at least one bind plugin is needed for profile with scheduler name ${quote(schedulerName)}`
    throw new ConfigurationError(`${field}.plugins.bind: ${needed}`)
  }
  return profileOf({
    schedulerName,
    percentageOfNodesToScore,
    plugins: sets.all.map(({ name, weight }) => ({ plugin: plugins.get(name)!, weight })),
    at,
    extenders: extenders.hooks(handle),
  })
}

function whereEnabled({ fields, field }: ProfileSettings, point: PointName, name: string): string {
  const index = fields.plugins?.[point]?.enabled?.findIndex(plugin => plugin.name === name) ?? -1
  return index < 0 ? `${field}.plugins` : `${field}.plugins.${point}.enabled[${index}]`
}
