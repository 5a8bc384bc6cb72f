/** A scheduling profile: its plugins by extension point, in order of execution. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type {
  Diagnosis,
  Plugin,
  PluginHandle,
  QueuedPodInfo,
  Unschedulable,
  ProcessPreemption,
  PostFilterResult,
} from './framework.ts'
import type { ScheduleResult, FilterResult } from './schedule-pod.ts'
import type { PodInfo } from './pod-info.ts'

export interface Profile {
  /** Matched with `spec.schedulerName` of pods. */
  readonly schedulerName: string
  /** All of them, in order. */
  readonly plugins: readonly Plugin[]
  readonly filters: readonly PluginWith<'preFilter'>[]
  readonly scorers: readonly { readonly plugin: PluginWith<'score'>; readonly weight: number }[]
  /** Percentage of nodes to find feasible before filtering stops; 0 derives it from the cluster size. */
  readonly percentageOfNodesToScore: number
  readonly queueSort: (left: QueuedPodInfo, right: QueuedPodInfo) => number
  readonly preEnqueue: (pod: Stored<Pod>) => Unschedulable | undefined
  /** postFilter: the first plugin that returns a node wins; otherwise the messages are joined. */
  readonly runPostFilterPlugins: (pod: PodInfo, diagnosis: Diagnosis) => Promise<PostFilterResult | undefined>
  readonly binding: BindingPlugins
  /** There are no score plugins or extenders, so the first feasible node is chosen. */
  readonly hasNoScorers: boolean
  readonly extenders: ExtenderHooks
}

/** The plugins of the reserve phase and the binding cycle. */
export interface BindingPlugins {
  readonly reserve: readonly PluginWith<'reserve'>[]
  /** In reverse order. */
  readonly unreserve: readonly PluginWith<'unreserve'>[]
  readonly permit: readonly PluginWith<'permit'>[]
  readonly preBind: readonly PluginWith<'preBind'>[]
  readonly bind: readonly PluginWith<'bind'>[]
  readonly postBind: readonly PluginWith<'postBind'>[]
}

/** The hooks of extenders. */
export interface ExtenderHooks {
  readonly filter: (pod: PodInfo, filtered: FilterResult) => FilterResult | Promise<FilterResult>
  readonly prioritize: (
    pod: PodInfo,
    filtered: FilterResult,
    choose: () => ScheduleResult,
  ) => ScheduleResult | Promise<ScheduleResult>
  readonly processPreemption?: ProcessPreemption
  /** Resolves to true if it has bound the pod; undefined if no extender binds this pod. */
  readonly bind?: (pod: PodInfo, node: string) => Promise<boolean> | undefined
}

/** Creates the profiles of a scheduler; there is at least one, and all have the same queueSort. */
export type ProfileFactory = (handle: PluginHandle) => readonly Profile[]

export type PluginWith<Point extends keyof Plugin> = Plugin & {
  readonly [P in Point]-?: NonNullable<Plugin[P]>
}

/** The plugins that implement the extension point. */
function pluginsWith<Point extends keyof Plugin>(
  plugins: readonly Plugin[],
  point: Point,
): readonly PluginWith<Point>[] {
  // The filter guarantees that the function is present.
  return plugins.filter(plugin => plugin[point] !== undefined) as unknown as readonly PluginWith<Point>[]
}

export interface ProfileParts {
  readonly schedulerName: string
  /** In order of execution. */
  readonly plugins: readonly { readonly plugin: Plugin; readonly weight: number }[]
  /** The plugins of an extension point in order of execution; by default all that implement it. */
  readonly at?: (point: ExtensionPoint) => readonly Plugin[]
  readonly percentageOfNodesToScore: number
  readonly extenders?: ExtenderHooks | undefined
}

export type ExtensionPoint = Exclude<keyof Plugin, 'name' | 'eventsToRegister' | 'unreserve'>

export function profileOf(parts: ProfileParts): Profile {
  const { schedulerName, plugins, percentageOfNodesToScore, extenders } = parts
  const all = plugins.map(({ plugin }) => plugin)
  const at = parts.at ?? (() => all)
  const gates = pluginsWith(at('preEnqueue'), 'preEnqueue')
  const postFilters = pluginsWith(at('postFilter'), 'postFilter')
  const [queueSort] = pluginsWith(at('queueSort'), 'queueSort')
  const scorers = pluginsWith(at('score'), 'score')
  if (queueSort === undefined) throw new Error(`profile ${schedulerName}: one queue sort plugin required`)
  const weights = new Map(plugins.map(({ plugin, weight }) => [plugin.name, weight]))
  return {
    schedulerName,
    plugins: all,
    filters: pluginsWith(at('preFilter'), 'preFilter'),
    scorers: scorers.map(plugin => ({ plugin, weight: weights.get(plugin.name) ?? 1 })),
    percentageOfNodesToScore,
    queueSort: queueSort.queueSort,
    preEnqueue: pod => {
      for (const plugin of gates) {
        const status = plugin.preEnqueue(pod)
        if (status !== undefined) return { ...status, plugin: plugin.name }
      }
      return undefined
    },
    runPostFilterPlugins: async (pod, diagnosis) => {
      const results: Exclude<PostFilterResult, { node: string }>[] = []
      for (const plugin of postFilters) {
        const result = await plugin.postFilter(pod, diagnosis, extenders?.processPreemption ?? keepCandidates)
        if ('node' in result) return result
        results.push(result)
      }
      if (results.length === 0) return undefined
      return {
        message: results.map(({ message }) => message).join(', '),
        clearsNominatedNode: results.some(({ clearsNominatedNode }) => clearsNominatedNode),
      }
    },
    binding: bindingPlugins(at),
    hasNoScorers: scorers.length === 0 && extenders === undefined,
    extenders: extenders ?? alone,
  }
}

function bindingPlugins(at: (point: ExtensionPoint) => readonly Plugin[]): BindingPlugins {
  return {
    reserve: pluginsWith(at('reserve'), 'reserve'),
    unreserve: pluginsWith(at('reserve'), 'unreserve').toReversed(),
    permit: pluginsWith(at('permit'), 'permit'),
    preBind: pluginsWith(at('preBind'), 'preBind'),
    bind: pluginsWith(at('bind'), 'bind'),
    postBind: pluginsWith(at('postBind'), 'postBind'),
  }
}

const keepCandidates: ProcessPreemption = (_pod, candidates) => candidates

/** Without extenders. */
const alone: ExtenderHooks = {
  filter: (_pod, filtered) => filtered,
  prioritize: (_pod, _filtered, choose) => choose(),
}
