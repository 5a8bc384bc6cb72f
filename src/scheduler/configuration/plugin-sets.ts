/** Which plugins a profile has, and which have a part in what: what a file says, put over what everybody gets. */
import type { PluginFields, PluginSetFields, PluginsFields, PointName } from './fields.ts'

export interface EnabledPlugin {
  readonly name: string
  readonly weight: number
}

export interface PluginSets {
  /** All that have a part in anything, in the order in which they were named first. */
  readonly all: readonly EnabledPlugin[]
  /** Those that have a part in one thing, in the order in which they are asked. `canTakePart` says who could. */
  readonly at: (point: SinglePoint, canTakePart: (plugin: string) => boolean) => readonly string[]
}

/** Points that plugins have a part in by a function of theirs. */
export type SinglePoint = Exclude<
  PointName,
  'multiPoint' | 'preFilter' | 'preScore' | 'placementGenerate' | 'placementScore'
>

/** What is prepared is one with what it is prepared for: who has a part in one has it in the other. */
const preparing: Partial<Record<SinglePoint, PointName>> = { filter: 'preFilter', score: 'preScore' }

const all = '*'

export function pluginSets(defaults: readonly EnabledPlugin[], plugins: PluginsFields): PluginSets {
  const everywhere = withDefaults(defaults, plugins.multiPoint ?? {})
  const named = new Map<string, EnabledPlugin>()
  const scoring = new Map((plugins.score?.enabled ?? []).map(each => [nameOf(each), enabledPlugin(each)]))
  const single = Object.values(plugins).flatMap(({ enabled = [] }: PluginSetFields) => enabled)
  for (const { name, weight } of [...everywhere, ...single.map(enabledPlugin)]) {
    // The weight that is said where scores are given counts more than the one that is said for everything.
    if (!named.has(name)) named.set(name, scoring.get(name) ?? { name, weight })
  }
  return {
    all: [...named.values()],
    at: (point, canTakePart) => {
      const { enabled, disabled } = setAt(plugins, point)
      if (disabled.has(all)) return enabled
      const also = everywhere
        .map(({ name }) => name)
        .filter(name => canTakePart(name) && !disabled.has(name) && !enabled.includes(name))
      const isOfAll = (name: string): boolean => everywhere.some(each => each.name === name)
      return [...enabled.filter(isOfAll), ...also, ...enabled.filter(name => !isOfAll(name))]
    },
  }
}

function setAt(
  plugins: PluginsFields,
  point: SinglePoint,
): { readonly enabled: readonly string[]; readonly disabled: ReadonlySet<string> } {
  const { enabled = [], disabled = [] } = plugins[point] ?? {}
  const before = preparing[point]
  const off = new Set(disabled.map(nameOf))
  const prepared = (before === undefined ? [] : (plugins[before]?.enabled ?? []))
    .map(nameOf)
    .filter(name => !off.has(name))
  return { enabled: [...new Set([...enabled.map(nameOf), ...prepared])], disabled: off }
}

/** A plugin of the defaults that is named again keeps its place, and others come after them. */
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
