/**
 * The scheduling framework. A plugin is a value with the extension points it implements. For each pod it is
 * called once in preFilter and once in score, and returns a state with the functions for each node; what it
 * precomputes is kept in their closures. A plugin that does not concern a pod returns `undefined` and costs
 * nothing more in that scheduling cycle.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/scheduling-framework/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'
import type { SchedulerMetrics } from './metrics.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Snapshot } from './snapshot.ts'

export interface Plugin {
  /** As in `KubeSchedulerConfiguration`: `NodeResourcesFit`. */
  readonly name: string
  /**
   * The order of the active queue, negative if the left pod comes first. Exactly one plugin of a
   * profile has it.
   */
  readonly queueSort?: (left: QueuedPodInfo, right: QueuedPodInfo) => number
  /** Returns a status to keep the pod out of the active queue. */
  readonly preEnqueue?: (pod: Stored<Pod>) => Unschedulable | undefined
  /** Events that may make a pod schedulable that this plugin rejected. If absent, every event may. */
  readonly eventsToRegister?: readonly ClusterEventWithHint[]
  /**
   * A status returned here is unresolvable on all nodes, so preemption is not tried. If preemption may help,
   * a filter state must be returned instead.
   */
  readonly preFilter?: (pod: PodInfo, snapshot: Snapshot) => FilterState | Unschedulable | undefined
  /**
   * Called if no node is feasible; the first plugin that returns a node wins. It decides without side effects.
   */
  readonly postFilter?: (
    pod: PodInfo,
    diagnosis: Diagnosis,
    processPreemption: ProcessPreemption,
  ) => Promise<PostFilterResult>
  /** Called with the feasible nodes, at least two. */
  readonly score?: (pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]) => ScoreState | undefined
  /** Called after a node is chosen; the first rejection ends it, and `unreserve` is called on all plugins. */
  readonly reserve?: (pod: PodInfo, node: string, cycleState: CycleState) => Unschedulable | undefined
  readonly unreserve?: (pod: PodInfo, node: string, cycleState: CycleState) => void
  /** May delay the binding: the promise settles when the pod is allowed or rejected, or on a timeout. */
  readonly permit?: (
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ) => Promise<Unschedulable | undefined> | undefined
  /** Work to be done before the pod is bound. If it throws, the pod is requeued. */
  readonly preBind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  /** Binds the pod, or returns `undefined` to leave it to the next plugin. */
  readonly bind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  readonly postBind?: (pod: PodInfo, node: string) => void
}

/**
 * Identity of a scheduling cycle: plugins keep state from filtering to binding in a WeakMap with this key.
 */
export type CycleState = object

export interface BindWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly cycleState: CycleState
}

/** The status of a pod that does not fit a node, or any node. */
export interface Unschedulable {
  /** User-visible: `Insufficient cpu`, `node(s) had untolerated taint(s)`. */
  readonly reason: string
  /** Further reasons, if there are several: `Insufficient memory`. */
  readonly more?: readonly string[]
  /** Unresolvable: preempting pods cannot help, so preemption skips the node. */
  readonly isUnresolvable?: boolean
  /** The plugin that rejected the pod; set by the framework. */
  readonly plugin?: string
}

/** The filter state of a plugin for one pod. */
export interface FilterState {
  /** The only nodes to consider; all when absent. */
  readonly preFilterResult?: ReadonlySet<string>
  /** Called for many nodes, so it should allocate nothing if the node is feasible. */
  readonly filter: (node: NodeInfo) => Unschedulable | undefined
  /**
   * The state as if this pod were, or were not, on the node; for preemption and nominated pods. Absent if the
   * plugin depends only on the node passed to `filter`. The node identifies the position; the pods in it may
   * include further additions and removals.
   */
  readonly addPod?: (pod: PodInfo, node: NodeInfo) => FilterState
  readonly removePod?: (pod: PodInfo, node: NodeInfo) => FilterState
}

export interface ScoreState {
  /** From 0 to 100, possibly only after `normalizeScore`. */
  readonly score: (node: NodeInfo) => number
  /** Normalizes the scores of all nodes in place. */
  readonly normalizeScore?: (scores: Float64Array) => void
}

export const scoreMax = 100

/** The result of filtering if no node is feasible. */
export interface Diagnosis {
  readonly snapshot: Snapshot
  /** By node name, without the nodes that were not considered. */
  readonly nodeToStatus: ReadonlyMap<string, Unschedulable>
  /** The plugins that restricted the nodes to consider, if any. */
  readonly preFilterPlugins?: readonly string[]
  /** Set if preFilter rejected the pod for all nodes. */
  readonly preFilterStatus?: Unschedulable
  /** The filter states of the plugins. */
  readonly filters: readonly { readonly plugin: string; readonly state: FilterState }[]
  readonly cycleState: CycleState
  /** Nominated pods of a node. */
  readonly nominated: (node: string) => readonly PodInfo[]
  /** The nominated node of this pod. */
  readonly nominatedNode?: string | undefined
}

/** Result of postFilter: a nominated node, or a message for the user. */
export type PostFilterResult =
  | {
      readonly node: string
      /** Evicts the victims. The pod is not retried before this is done, and immediately if it throws. */
      readonly preempt?: (work: PreemptionWork) => Promise<void>
    }
  | {
      readonly message: string
      /** Clears the nominated node of the pod. */
      readonly clearsNominatedNode?: boolean
    }

export interface PreemptionWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly record: (about: Stored<Pod>, event: EventContent) => void
}

/** A preemption candidate: a node and the pods to be preempted there. */
export interface PreemptionCandidate {
  readonly node: string
  /** Highest priority first; at least one. */
  readonly victims: readonly PodInfo[]
  /** Number of victims with a PodDisruptionBudget violation. */
  readonly pdbViolations: number
}

/** Extenders may remove candidates or change their victims. Throws if an extender fails. */
export type ProcessPreemption = (
  pod: PodInfo,
  candidates: readonly PreemptionCandidate[],
) => Promise<readonly PreemptionCandidate[]> | readonly PreemptionCandidate[]

/** A pod in the queue. */
export interface QueuedPodInfo {
  readonly pod: Stored<Pod>
  readonly key: string
  /** Monotonic time when it was added to the queue, first or after its last failure. */
  readonly addedMs: number
  /** Increases with each added pod; breaks ties of `addedMs`. */
  readonly sequence: number
  readonly attempts: number
  /** Monotonic time of the first attempt. */
  readonly initialAttemptMs?: number
  /** Monotonic time when it was added to activeQ or backoffQ for the current attempt. */
  readonly queuedMs?: number
  /** Revision of the cluster event that requeued it for the current attempt, if one did. */
  readonly movedBy?: number | undefined
  /** True if it is retried without an event, because it was unschedulable for too long. */
  readonly isFlushed?: boolean
}

/**
 * An event that may make a pod schedulable that the plugin rejected. Without a queueing hint every such event
 * requeues the pod. The hint must return true when in doubt.
 */
export interface ClusterEventWithHint<T extends KubernetesObject = KubernetesObject> {
  readonly resource: Resource<T>
  readonly on: readonly ('add' | 'update' | 'delete')[]
  readonly queueingHint?: (
    pod: Stored<Pod>,
    change: { readonly before?: Stored<T>; readonly after?: Stored<T> },
  ) => boolean
}

/** Type helper: the queueing hint gets only objects of its resource. */
export function clusterEventWithHint<T extends KubernetesObject>(
  event: ClusterEventWithHint<T>,
): ClusterEventWithHint {
  return event as unknown as ClusterEventWithHint
}

/** Dependencies of plugins. */
export interface PluginHandle {
  readonly platform: Platform
  readonly client: Client
  /** Informers of resources other than pods and nodes; the scheduler starts after all of them have synced. */
  readonly informer: <T extends KubernetesObject>(resource: Resource<T>) => Informer<T>
  /** The newest snapshot, including assumed pods; for use outside of a scheduling cycle. */
  readonly snapshot: () => Snapshot
  /** Runs preEnqueue again for the pod with this key. */
  readonly recheckPreEnqueue: (key: string) => void
  readonly metrics: SchedulerMetrics
}

/** Creates a plugin. Validates and defaults its args; throws Error for invalid ones. */
export type PluginFactory = (handle: PluginHandle, args: Readonly<Record<string, unknown>>) => Plugin
