/**
 * The trace of an object: from a client's request through every write and pass that it caused. It is planned from the
 * recorded origins of writes (`api/origin.ts`) alone, by `planTrace`, which is pure and also runs in a browser;
 * `collectTrace` reads what it needs from an API server. Nothing here writes to the cluster. `docs/trace.md` is the
 * users' documentation.
 */
import type { WrittenObject } from '#/api/write-record.ts'

export interface Trace {
  readonly target: TraceTarget
  /** The request or the pass that began the chain: the first hop. */
  readonly root: Hop
  /** In order of time; a hop comes after its causes. All times are milliseconds since 1970, with fractions. */
  readonly hops: readonly Hop[]
  readonly startedMs: number
  readonly endedMs: number
  /** Where the time of the longest chain of causes went, largest first. The shares add up to 1. */
  readonly breakdown: readonly TimeShare[]
  /** What is missing, and why. */
  readonly notes: readonly string[]
}

export interface TraceTarget {
  readonly kind: string
  /** Without it, the kind of any group. */
  readonly apiVersion?: string | undefined
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string | undefined
  readonly name: string
}

/** One write, or one pass that wrote nothing to the API, such as an update of the service rules of a node. */
export interface Hop {
  /** Unique in the trace: the revision of a write. */
  readonly id: string
  readonly type: 'write' | 'pass'
  /** The component of the pass, or the user of a request that no component sent. */
  readonly actor: string
  readonly node?: string | undefined
  readonly userAgent?: string | undefined
  /** The verb of the request, as in RBAC, or `apply`; absent for passes. */
  readonly verb?: string | undefined
  readonly subresource?: string | undefined
  /** The object that was written; absent for passes. */
  readonly object?: WrittenObject | undefined
  /** The key of the work queue; absent for requests that no component sent. */
  readonly key?: string | undefined
  readonly revision?: number | undefined
  /** Absent for requests that no component sent. Several writes may have the same pass. */
  readonly passId?: string | undefined
  /** Ids of the hops in this trace that caused this one, ascending. */
  readonly causes: readonly string[]
  /** The cause that added the key to the queue. Absent for the root, and if no cause is known. */
  readonly parent?: string | undefined
  /** Length of the path from the root; a component that goes on with the same object does not count. */
  readonly depth: number
  readonly startedMs: number
  /** When the write was visible to watchers, or the pass ended. */
  readonly endedMs: number
  /** In order of start; a segment comes before those inside it. */
  readonly segments: readonly Segment[]
  /** The correction of the component's clock: its times are impossible by the clock of the API server. */
  readonly clockShiftMs?: number | undefined
  /** The client's W3C trace context. */
  readonly traceparent?: string | undefined
}

export interface Segment {
  readonly kind: SegmentKind
  /** Of a step or stage: its name. */
  readonly name: string
  /** A plugin, a webhook, an image, a container. */
  readonly detail?: string | undefined
  readonly startedMs: number
  readonly durationMs: number
}

export type SegmentKind =
  /** From the cause's visibility to the addition of the key to the queue. */
  | 'watch'
  | 'queue'
  /** From the start of the pass to its request, or to its end. */
  | 'pass'
  /** Inside a pass. */
  | 'step'
  /** From the receipt of the request to the visibility of the write. */
  | 'request'
  /** Inside a request. */
  | 'stage'
  /** Time of more than 50 ms that nothing recorded explains. */
  | 'gap'

export interface TimeShare {
  readonly name: string
  readonly durationMs: number
  /** Between 0 and 1. */
  readonly share: number
}
