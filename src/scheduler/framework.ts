/**
 * The scheduling framework. A plugin is a value with the extension points it implements. For each pod it is
 * called once and returns a cycle, with the state of the scheduling cycle in its closures. A plugin that does
 * not concern a pod returns `undefined` and costs nothing more in that cycle.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/scheduling-framework/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Snapshot } from './snapshot.ts'

export interface Plugin {
  /** As in `KubeSchedulerConfiguration`: `NodeResourcesFit`. */
  readonly name: string
  /**
   * queueSort: the order of the active queue, negative if the left pod comes first. Exactly one plugin of a
   * profile has it.
   */
  readonly compare?: (left: QueuedPod, right: QueuedPod) => number
  /** Returns a refusal to keep the pod out of the active queue. */
  readonly preEnqueue?: (pod: Pod) => Refusal | undefined
  /** Events that may make a pod schedulable that this plugin refused. If absent, every event may. */
  readonly wakeUps?: readonly WakeUp[]
  /**
   * preFilter: a refusal returned here is unresolvable on all nodes, so preemption is not tried. If
   * preemption may help, a cycle must be returned instead.
   */
  readonly filter?: (pod: PodInfo, snapshot: Snapshot) => FilterCycle | Refusal | undefined
  /**
   * postFilter: called if no node is feasible; the first plugin that returns a node wins. It decides without
   * side effects.
   */
  readonly makeRoom?: (pod: PodInfo, failure: FilterFailure, review: ReviewEvictions) => Promise<Room>
  /** Called with the feasible nodes, at least two. */
  readonly score?: (pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]) => ScoreCycle | undefined
  /** Called after a node is chosen; the first refusal ends it, and `unreserve` is called on all plugins. */
  readonly reserve?: (pod: PodInfo, node: string, cycle: CycleId) => Refusal | undefined
  readonly unreserve?: (pod: PodInfo, node: string, cycle: CycleId) => void
  /** May delay the binding: the promise settles when the pod is allowed or rejected, or on a timeout. */
  readonly permit?: (
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ) => Promise<Refusal | undefined> | undefined
  /** Work to be done before the pod is bound. If it throws, the pod is requeued. */
  readonly preBind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  /** Binds the pod, or returns `undefined` to leave it to the next plugin. */
  readonly bind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  readonly postBind?: (pod: PodInfo, node: string) => void
}

/**
 * Identity of a scheduling cycle: plugins keep state from filtering to binding in a WeakMap with this key.
 */
export type CycleId = object

export interface BindWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly cycle: CycleId
}

/** Reason why a pod does not fit a node, or any node. */
export interface Refusal {
  /** User-visible: `Insufficient cpu`, `node(s) had untolerated taint(s)`. */
  readonly reason: string
  /** Further reasons, if there are several: `Insufficient memory`. */
  readonly more?: readonly string[]
  /** Unresolvable: preempting pods cannot help, so preemption skips the node. */
  readonly isFinal?: boolean
  /** The plugin that refused; set by the framework. */
  readonly plugin?: string
}

/** The filter state of a plugin for one pod. */
export interface FilterCycle {
  /** preFilterResult: the only nodes to consider; all when absent. */
  readonly only?: ReadonlySet<string>
  /** filter: called for many nodes, so it should allocate nothing if the node is feasible. */
  readonly test: (node: NodeInfo) => Refusal | undefined
  /**
   * addPod and removePod: the cycle as if this pod were, or were not, on the node; for preemption and
   * nominated pods. Absent if the plugin depends only on the node passed to `test`. The node identifies the
   * position; the pods in it may include further additions and removals.
   */
  readonly withPod?: (pod: PodInfo, node: NodeInfo) => FilterCycle
  readonly withoutPod?: (pod: PodInfo, node: NodeInfo) => FilterCycle
}

export interface ScoreCycle {
  /** From 0 to 100, possibly only after `normalize`. */
  readonly score: (node: NodeInfo) => number
  /** Normalizes the scores of all nodes in place. */
  readonly normalize?: (scores: Float64Array) => void
}

export const scoreMax = 100

/** The result of filtering if no node is feasible. */
export interface FilterFailure {
  readonly snapshot: Snapshot
  /** By node name, without the nodes that were not considered. */
  readonly refusals: ReadonlyMap<string, Refusal>
  /** The plugins that restricted the nodes to consider, if any. */
  readonly narrowedBy?: readonly string[]
  /** Set if preFilter refused the pod for all nodes. */
  readonly everywhere?: Refusal
  /** The filter cycles of the plugins. */
  readonly filters: readonly { readonly plugin: string; readonly cycle: FilterCycle }[]
  readonly cycle: CycleId
  /** Nominated pods of a node. */
  readonly nominated: (node: string) => readonly PodInfo[]
  /** The nominated node of this pod. */
  readonly nominatedNode?: string | undefined
}

/** Result of postFilter: a nominated node, or a message for the user. */
export type Room =
  | {
      readonly node: string
      /** Evicts the victims. The pod is not retried before this is done, and immediately if it throws. */
      readonly prepare?: (work: RoomWork) => Promise<void>
    }
  | {
      readonly message: string
      /** Clears the nominated node of the pod. */
      readonly dropsNomination?: boolean
    }

export interface RoomWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly record: (about: Pod, event: EventContent) => void
}

/** A preemption candidate: a node and the pods to be preempted there. */
export interface Eviction {
  readonly node: string
  /** Highest priority first; at least one. */
  readonly victims: readonly PodInfo[]
  /** Number of victims with a PodDisruptionBudget violation. */
  readonly violations: number
}

/** Extenders may remove candidates or change their victims. Throws if an extender fails. */
export type ReviewEvictions = (
  pod: PodInfo,
  evictions: readonly Eviction[],
) => Promise<readonly Eviction[]> | readonly Eviction[]

/** A pod in the queue. */
export interface QueuedPod {
  readonly pod: Pod
  readonly key: string
  /** Monotonic time when it was added to the queue, first or after its last failure. */
  readonly addedMs: number
  /** Increases with each added pod; breaks ties of `addedMs`. */
  readonly sequence: number
  readonly attempts: number
}

/**
 * An event that may make a pod schedulable that the plugin refused. `isHelpful` is the queueing hint; without
 * it every such event requeues the pod. It must return true when in doubt.
 */
export interface WakeUp<T extends KubernetesObject = KubernetesObject> {
  readonly resource: Resource<T>
  readonly on: readonly ('add' | 'update' | 'delete')[]
  readonly isHelpful?: (waiting: Pod, change: { readonly before?: T; readonly after?: T }) => boolean
}

/** Type helper for declaring a wake-up; `isHelpful` gets only objects of its resource. */
export function wakeUp<T extends KubernetesObject>(wakeUp: WakeUp<T>): WakeUp {
  return wakeUp as unknown as WakeUp
}

/** Dependencies of plugins. */
export interface PluginContext {
  readonly platform: Platform
  readonly client: Client
  /** Informers of resources other than pods and nodes; the scheduler starts after all of them have synced. */
  readonly informer: <T extends KubernetesObject>(resource: Resource<T>) => Informer<T>
  /** The newest snapshot, including assumed pods; for use outside of a scheduling cycle. */
  readonly snapshot: () => Snapshot
  /** Runs preEnqueue again for the pod with this key. */
  readonly reconsider: (key: string) => void
}

/** Creates a plugin. Validates and defaults its args; throws Error for invalid ones. */
export type PluginFactory = (context: PluginContext, parameters: Readonly<Record<string, unknown>>) => Plugin
