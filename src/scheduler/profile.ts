/** The plugins of one scheduler by what they take part in, in the order in which they are asked. */
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
  /** Pods name it in `spec.schedulerName`. */
  readonly schedulerName: string
  /** All of them, in order. */
  readonly plugins: readonly Plugin[]
  readonly filters: readonly PluginWith<'filter'>[]
  readonly scorers: readonly { readonly plugin: PluginWith<'score'>; readonly weight: number }[]
  /** Of how many nodes in a hundred that will do are enough; 0 when that follows from their number. */
  readonly percentageOfNodesToScore: number
  readonly compare: (left: QueuedPod, right: QueuedPod) => number
  readonly preEnqueue: (pod: Pod) => Refusal | undefined
  /** The first plugin that makes room ends it; otherwise each says why there is none. */
  readonly makeRoom: (pod: PodInfo, failure: FilterFailure) => Promise<Room | undefined>
  readonly binding: BindingPlugins
  /** Nobody compares nodes: the first that will do is as good as any. */
  readonly isFirstGoodEnough: boolean
  readonly extend: Extension
}

/** Who has a part in what comes after the choice of a node. */
export interface BindingPlugins {
  readonly reserve: readonly PluginWith<'reserve'>[]
  /** In the opposite order, as things are undone. */
  readonly unreserve: readonly PluginWith<'unreserve'>[]
  readonly permit: readonly PluginWith<'permit'>[]
  readonly preBind: readonly PluginWith<'preBind'>[]
  readonly bind: readonly PluginWith<'bind'>[]
  readonly postBind: readonly PluginWith<'postBind'>[]
}

/** What programs outside add to a pass. */
export interface Extension {
  readonly filter: (pod: PodInfo, filtered: Filtered) => Filtered | Promise<Filtered>
  readonly choose: (pod: PodInfo, filtered: Filtered, choose: () => Chosen) => Chosen | Promise<Chosen>
  readonly review?: ReviewEvictions
  /** Says whether it has bound the pod; undefined when it binds none such. */
  readonly bind?: (pod: PodInfo, node: string) => Promise<boolean> | undefined
}

/** Makes the profiles of a scheduler; there is at least one, and all order the queue in the same way. */
export type MakeProfiles = (context: PluginContext) => readonly Profile[]

export type PluginWith<Point extends keyof Plugin> = Plugin & {
  readonly [P in Point]-?: NonNullable<Plugin[P]>
}

/** Those that take part. */
function pluginsWith<Point extends keyof Plugin>(
  plugins: readonly Plugin[],
  point: Point,
): readonly PluginWith<Point>[] {
  // Here a plugin becomes one that surely has the function: it was looked for.
  return plugins.filter(plugin => plugin[point] !== undefined) as unknown as readonly PluginWith<Point>[]
}

export interface ProfileParts {
  readonly schedulerName: string
  /** In the order in which they are asked. */
  readonly plugins: readonly { readonly plugin: Plugin; readonly weight: number }[]
  /** Those that are asked at one point, and in which order, when not all have a part in all they can. */
  readonly at?: (point: ExtensionPoint) => readonly Plugin[]
  readonly percentageOfNodesToScore: number
  readonly extend?: Extension | undefined
}

/** What plugins may have a part in. */
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

/** Nobody outside is asked. */
const alone: Extension = {
  filter: (_pod, filtered) => filtered,
  choose: (_pod, _filtered, choose) => choose(),
}
