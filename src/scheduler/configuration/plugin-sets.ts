/**
 * The enabled plugins of a profile and of each extension point: the configuration merged with the defaults.
 */
import type { PluginFields, PluginSetFields, PluginsFields, PointName } from './fields.ts'

export interface EnabledPlugin {
  readonly name: string
  readonly weight: number
}

export interface PluginSets {
  /** All plugins enabled at any extension point, in the order of first mention. */
  readonly all: readonly EnabledPlugin[]
  /**
   * The plugins enabled at one extension point, in order of execution. `implementsPoint` tells if a plugin
   * implements it.
   */
  readonly at: (point: ExtensionPointName, implementsPoint: (plugin: string) => boolean) => readonly string[]
}

/** Extension points that correspond to one function of a plugin. */
export type ExtensionPointName = Exclude<
  PointName,
  'multiPoint' | 'preFilter' | 'preScore' | 'placementGenerate' | 'placementScore'
>

/** filter includes preFilter and score includes preScore: a plugin enabled at one is enabled at the other. */
const preparing: Partial<Record<ExtensionPointName, PointName>> = { filter: 'preFilter', score: 'preScore' }

const all = '*'

export function pluginSets(defaults: readonly EnabledPlugin[], plugins: PluginsFields): PluginSets {
  const everywhere = withDefaults(defaults, plugins.multiPoint ?? {})
  const named = new Map<string, EnabledPlugin>()
  const scoring = new Map((plugins.score?.enabled ?? []).map(each => [nameOf(each), enabledPlugin(each)]))
  const single = Object.values(plugins).flatMap(({ enabled = [] }: PluginSetFields) => enabled)
  for (const { name, weight } of [...everywhere, ...single.map(enabledPlugin)]) {
    // The weight of the score extension point overrides that of multiPoint.
    if (!named.has(name)) named.set(name, scoring.get(name) ?? { name, weight })
  }
  return {
    all: [...named.values()],
    at: (point, implementsPoint) => {
      const { enabled, disabled } = setAt(plugins, point)
      if (disabled.has(all)) return enabled
      const also = everywhere
        .map(({ name }) => name)
        .filter(name => implementsPoint(name) && !disabled.has(name) && !enabled.includes(name))
      const isOfAll = (name: string): boolean => everywhere.some(each => each.name === name)
      return [...enabled.filter(isOfAll), ...also, ...enabled.filter(name => !isOfAll(name))]
    },
  }
}

function setAt(
  plugins: PluginsFields,
  point: ExtensionPointName,
): { readonly enabled: readonly string[]; readonly disabled: ReadonlySet<string> } {
  const { enabled = [], disabled = [] } = plugins[point] ?? {}
  const before = preparing[point]
  const off = new Set(disabled.map(nameOf))
  const prepared = (before === undefined ? [] : (plugins[before]?.enabled ?? []))
    .map(nameOf)
    .filter(name => !off.has(name))
  return { enabled: [...new Set([...enabled.map(nameOf), ...prepared])], disabled: off }
}

/** A default plugin that is enabled again keeps its position; other plugins are appended. */
function withDefaults(
  defaults: readonly EnabledPlugin[],
  { enabled = [], disabled = [] }: PluginSetFields,
): readonly EnabledPlugin[] {
  const off = new Set(disabled.map(nameOf))
  const said = new Map(enabled.map(plugin => [nameOf(plugin), enabledPlugin(plugin)]))
  const kept = off.has(all) ? [] : defaults.filter(({ name }) => !off.has(name))
  const places = new Set(kept.map(({ name }) => name))
  return [
    ...kept.map(plugin => said.get(plugin.name) ?? plugin),
    ...[...said.values()].filter(({ name }) => !places.has(name)),
  ]
}

function enabledPlugin(plugin: PluginFields): EnabledPlugin {
  return { name: nameOf(plugin), weight: plugin.weight || 1 }
}

function nameOf({ name = '' }: PluginFields): string {
  return name
}
