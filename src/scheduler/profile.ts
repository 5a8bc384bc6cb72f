/** A scheduling profile: its plugins by extension point, in order of execution. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type {
  FilterFailure,
  Plugin,
  PluginContext,
  QueuedPod,
  Refusal,
  ReviewEvictions,
  Room,
} from './framework.ts'
import type { Chosen, Filtered } from './place-pod.ts'
import type { PodInfo } from './pod-info.ts'

export interface Profile {
  /** Matched with `spec.schedulerName` of pods. */
  readonly schedulerName: string
  /** All of them, in order. */
  readonly plugins: readonly Plugin[]
  readonly filters: readonly PluginWith<'filter'>[]
  readonly scorers: readonly { readonly plugin: PluginWith<'score'>; readonly weight: number }[]
  /** Percentage of nodes to find feasible before filtering stops; 0 derives it from the cluster size. */
  readonly percentageOfNodesToScore: number
  readonly compare: (left: QueuedPod, right: QueuedPod) => number
  readonly preEnqueue: (pod: Pod) => Refusal | undefined
  /** postFilter: the first plugin that returns a node wins; otherwise the messages are joined. */
  readonly makeRoom: (pod: PodInfo, failure: FilterFailure) => Promise<Room | undefined>
  readonly binding: BindingPlugins
  /** There are no score plugins or extenders, so the first feasible node is chosen. */
  readonly isFirstGoodEnough: boolean
  readonly extend: Extension
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
export interface Extension {
  readonly filter: (pod: PodInfo, filtered: Filtered) => Filtered | Promise<Filtered>
  readonly choose: (pod: PodInfo, filtered: Filtered, choose: () => Chosen) => Chosen | Promise<Chosen>
  readonly review?: ReviewEvictions
  /** Resolves to true if it has bound the pod; undefined if no extender binds this pod. */
  readonly bind?: (pod: PodInfo, node: string) => Promise<boolean> | undefined
}

/** Creates the profiles of a scheduler; there is at least one, and all have the same queueSort. */
export type MakeProfiles = (context: PluginContext) => readonly Profile[]

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
  readonly extend?: Extension | undefined
}

export type ExtensionPoint = Exclude<keyof Plugin, 'name' | 'wakeUps' | 'unreserve'>

export function profileOf(parts: ProfileParts): Profile {
  const { schedulerName, plugins, percentageOfNodesToScore, extend } = parts
  const all = plugins.map(({ plugin }) => plugin)
  const at = parts.at ?? (() => all)
  const gates = pluginsWith(at('preEnqueue'), 'preEnqueue')
  const makers = pluginsWith(at('makeRoom'), 'makeRoom')
  const [sorter] = pluginsWith(at('compare'), 'compare')
  const scorers = pluginsWith(at('score'), 'score')
  if (sorter === undefined) throw new Error(`no plugin of ${schedulerName} orders the queue`)
  const weights = new Map(plugins.map(({ plugin, weight }) => [plugin.name, weight]))
  return {
    schedulerName,
    plugins: all,
    filters: pluginsWith(at('filter'), 'filter'),
    scorers: scorers.map(plugin => ({ plugin, weight: weights.get(plugin.name) ?? 1 })),
    percentageOfNodesToScore,
    compare: sorter.compare,
    preEnqueue: pod => {
      for (const plugin of gates) {
        const refusal = plugin.preEnqueue(pod)
        if (refusal !== undefined) return { ...refusal, plugin: plugin.name }
      }
      return undefined
    },
    makeRoom: async (pod, failure) => {
      const rooms: Exclude<Room, { node: string }>[] = []
      for (const plugin of makers) {
        const room = await plugin.makeRoom(pod, failure, extend?.review ?? asTheyAre)
        if ('node' in room) return room
        rooms.push(room)
      }
      if (rooms.length === 0) return undefined
      return {
        message: rooms.map(({ message }) => message).join(', '),
        dropsNomination: rooms.some(({ dropsNomination }) => dropsNomination),
      }
    },
    binding: bindingPlugins(at),
    isFirstGoodEnough: scorers.length === 0 && extend === undefined,
    extend: extend ?? alone,
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

const asTheyAre: ReviewEvictions = (_pod, evictions) => evictions

/** Without extenders. */
const alone: Extension = {
  filter: (_pod, filtered) => filtered,
  choose: (_pod, _filtered, choose) => choose(),
}
