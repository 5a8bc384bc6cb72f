/**
 * What a scheduler is made of. A plugin is a value with the extension points it takes part in. For each pod it is asked
 * once what it has to say of it; what it answers is a cycle of its own, whose state is whatever its functions close
 * over. A plugin that has nothing to say of a pod answers `undefined` and costs nothing more in that cycle.
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
  /** As `KubeSchedulerConfiguration` knows it: `NodeResourcesFit`. */
  readonly name: string
  /** Which of two waiting pods comes first: less than zero when the left one does. One plugin of a profile has it. */
  readonly compare?: (left: QueuedPod, right: QueuedPod) => number
  /** Why the pod is not even to be queued yet. */
  readonly preEnqueue?: (pod: Pod) => Refusal | undefined
  /** What may make a pod fit that this plugin refused. Without any, everything may. */
  readonly wakeUps?: readonly WakeUp[]
  /** A refusal holds everywhere and for good: whom it may help that other pods go gives a cycle. */
  readonly filter?: (pod: PodInfo, snapshot: Snapshot) => FilterCycle | Refusal | undefined
  /** Called when no node is left; the first plugin that makes room ends it. It decides and does nothing yet. */
  readonly makeRoom?: (pod: PodInfo, failure: FilterFailure, review: ReviewEvictions) => Promise<Room>
  /** Called with the nodes that are left, at least two. */
  readonly score?: (pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]) => ScoreCycle | undefined
  /** Called when the node has been chosen; the first that gives a refusal ends it, and `unreserve` is called on all. */
  readonly reserve?: (pod: PodInfo, node: string, cycle: CycleId) => Refusal | undefined
  readonly unreserve?: (pod: PodInfo, node: string, cycle: CycleId) => void
  /** May hold the pod back: the promise settles when others allow it, or the time is over. */
  readonly permit?: (
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ) => Promise<Refusal | undefined> | undefined
  /** What must be done before the pod may be bound. Throwing sends the pod back to the queue. */
  readonly preBind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  /** Binds the pod, or gives `undefined` when that is the next plugin's task. */
  readonly bind?: (pod: PodInfo, node: string, work: BindWork) => Promise<void> | undefined
  readonly postBind?: (pod: PodInfo, node: string) => void
}

/** Stands for one pass over one pod: what a plugin remembers from filtering until binding it keeps in a WeakMap. */
export type CycleId = object

export interface BindWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly cycle: CycleId
}

/** Why a pod cannot be somewhere. */
export interface Refusal {
  /** As people read it: `Insufficient cpu`, `node(s) had untolerated taint(s)`. */
  readonly reason: string
  /** Further reasons, where there are several: `Insufficient memory`. */
  readonly more?: readonly string[]
  /** Nothing that happens to other pods can help: who makes room need not look at the node. */
  readonly isFinal?: boolean
  /** Set by the framework: whose refusal it is. */
  readonly plugin?: string
}

/** What a plugin has to say of one pod and all nodes. */
export interface FilterCycle {
  /** The only nodes that come into question; all when absent. */
  readonly only?: ReadonlySet<string>
  /** Called for many nodes: it should allocate nothing when the node will do. */
  readonly test: (node: NodeInfo) => Refusal | undefined
  /**
   * The same as if this pod were on the node beside those that are, or were not: for those who try out what happens
   * when pods come and go. Absent when what the plugin says depends on nothing but the node itself as `test` gets it.
   * The node says where that is; which pods it shows depends on how many come and go at once.
   */
  readonly withPod?: (pod: PodInfo, node: NodeInfo) => FilterCycle
  readonly withoutPod?: (pod: PodInfo, node: NodeInfo) => FilterCycle
}

export interface ScoreCycle {
  /** From 0 to 100, unless `normalize` makes it so afterwards. */
  readonly score: (node: NodeInfo) => number
  /** Changes the scores of all nodes, in place. */
  readonly normalize?: (scores: Float64Array) => void
}

export const scoreMax = 100

/** No node was left, and why. */
export interface FilterFailure {
  readonly snapshot: Snapshot
  /** By name of the node; nodes that did not come into question are not there. */
  readonly refusals: ReadonlyMap<string, Refusal>
  /** The plugins that said which nodes come into question, when some did. */
  readonly narrowedBy?: readonly string[]
  /** When a plugin refused the pod before any node was looked at. */
  readonly everywhere?: Refusal
  /** What the plugins had to say. */
  readonly filters: readonly { readonly plugin: string; readonly cycle: FilterCycle }[]
  readonly cycle: CycleId
  /** Pods that wait for a node on which room was made for them, by node. */
  readonly nominated: (node: string) => readonly PodInfo[]
  /** Where room was made for this pod before. */
  readonly nominatedNode?: string | undefined
}

/** What came of making room: the node to wait for, or what to tell people. */
export type Room =
  | {
      readonly node: string
      /** Sends away who is in the way. The pod is not tried again before that is done; at once when it throws. */
      readonly prepare?: (work: RoomWork) => Promise<void>
    }
  | {
      readonly message: string
      /** It is of no use any more that the pod waits for the node where room was made for it before. */
      readonly dropsNomination?: boolean
    }

export interface RoomWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly record: (about: Pod, event: EventContent) => void
}

/** Pods that would have to go for another one to come to a node. */
export interface Eviction {
  readonly node: string
  /** The most important first; at least one. */
  readonly victims: readonly PodInfo[]
  /** How many of them a disruption budget would not let go. */
  readonly violations: number
}

/** Programs outside may take evictions away, or change who has to go. Throws when one of them cannot be asked. */
export type ReviewEvictions = (
  pod: PodInfo,
  evictions: readonly Eviction[],
) => Promise<readonly Eviction[]> | readonly Eviction[]

/** A pod in the queue. */
export interface QueuedPod {
  readonly pod: Pod
  readonly key: string
  /** When it came into the queue, the first time or after its last failure, by the monotonic clock. */
  readonly addedMs: number
  /** Grows with each pod that is added: settles what time leaves open. */
  readonly sequence: number
  readonly attempts: number
}

/**
 * A kind of change that may help pods that the plugin refused. `isHelpful` looks closer; without it every such change
 * counts. It must not say no when in doubt.
 */
export interface WakeUp<T extends KubernetesObject = KubernetesObject> {
  readonly resource: Resource<T>
  readonly on: readonly ('add' | 'update' | 'delete')[]
  readonly isHelpful?: (waiting: Pod, change: { readonly before?: T; readonly after?: T }) => boolean
}

/** Keeps the type of the objects while a wake-up is written down: it is given objects of its resource only. */
export function wakeUp<T extends KubernetesObject>(wakeUp: WakeUp<T>): WakeUp {
  return wakeUp as unknown as WakeUp
}

/** What plugins are made of. */
export interface PluginContext {
  readonly platform: Platform
  readonly client: Client
  /** Objects beside pods and nodes; the scheduler begins when all informers that were asked for have synced. */
  readonly informer: <T extends KubernetesObject>(resource: Resource<T>) => Informer<T>
  /** The newest snapshot, and the pods as the scheduler knows them: for those who act outside of a cycle. */
  readonly snapshot: () => Snapshot
  /** What a plugin said against queueing the pod of this key may be over. */
  readonly reconsider: (key: string) => void
}

/** Makes a plugin. It checks and completes its parameters from the configuration; throws Error for bad ones. */
export type PluginFactory = (context: PluginContext, parameters: Readonly<Record<string, unknown>>) => Plugin
