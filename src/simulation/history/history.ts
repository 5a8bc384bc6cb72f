/**
 * What clients of a cluster have done and seen, as records in the order in which they were completed. Times are
 * milliseconds of one monotonic clock, revisions are resourceVersions. Histories of real processes
 * (`npm run robustness`) and of simulated ones have the same format and the same checks.
 */
export type HistoryRecord =
  | RunRecord
  | Operation
  | Listing
  | ExpiredList
  | WatchSession
  | InformerState
  | FaultRecord
  | EpochRecord
  | ViolationRecord

export interface RunRecord {
  readonly type: 'run'
  readonly target: string
  readonly seed: string
}

export type Verb = 'create' | 'get' | 'update' | 'patch' | 'apply' | 'delete'

/** A request for one object. */
export interface Operation extends Interval {
  readonly type: 'operation'
  readonly client: string
  readonly verb: Verb
  /** The name of the object. */
  readonly key: string
  /** Written by no other operation. */
  readonly value?: string
  /** The precondition: the operation fails with Conflict when the object has another resourceVersion. */
  readonly expectedRevision?: number
  /** A read with resourceVersion 0: any version that the object has had. */
  readonly isStale?: true
  readonly outcome: Outcome
}

/** Collects records, with the times of one clock. */
export interface HistoryRecorder {
  nowMs(): number
  write(record: HistoryRecord | CallRecord): void
}

/** A write that has begun. Each client has one request at a time. */
export type CallRecord = Omit<Operation, 'type' | 'returnMs' | 'outcome'> & { readonly type: 'call' }

export interface Interval {
  readonly callMs: number
  readonly returnMs: number
}

export type Outcome =
  /** The version that was written or read; absent after a deletion, whose response has no resourceVersion. */
  | { readonly type: 'ok'; readonly version?: Version }
  /** The operation had no effect, with the reason of the API error; `Rejected` says nothing about the object. */
  | { readonly type: 'failed'; readonly reason: FailureReason }
  /** A write may have taken effect, or takes effect later. */
  | { readonly type: 'unknown'; readonly reason: string }

export type FailureReason = 'NotFound' | 'AlreadyExists' | 'Conflict' | 'Rejected'

export interface Version {
  readonly value: string
  readonly revision: number
}

/** All objects at a revision: a list, all its pages, or the initial events of a watch. */
export interface Listing extends Interval {
  readonly type: 'list'
  readonly client: string
  /** `consistent`: at least as new as all writes acknowledged before the call. */
  readonly match: 'consistent' | 'any' | 'not-older-than' | 'exact'
  /** The resourceVersion of the request, for `not-older-than` and `exact`. */
  readonly requestedRevision?: number
  readonly revision: number
  readonly objects: Objects
  /** Read after the last operation has returned. */
  readonly isFinal?: true
}

export type Objects = Readonly<Record<string, Version>>

/** A list, or one of its pages, that was answered with 410: its revision is compacted. */
export interface ExpiredList extends Interval {
  readonly type: 'expired-list'
  readonly client: string
}

/** One watch request. A watcher that continues begins the next one after the last revision of this one. */
export interface WatchSession {
  readonly type: 'watch'
  readonly client: string
  readonly callMs: number
  readonly endMs: number
  readonly afterRevision: number
  /** `expired`: the server answered 410, and the client lists again. */
  readonly end: 'closed' | 'expired' | 'failed'
  readonly events: readonly WatchedEvent[]
}

export type WatchedEvent =
  | ({ readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly key: string } & Version)
  | { readonly type: 'BOOKMARK'; readonly revision: number }

/** The content of an informer after the last operation. */
export interface InformerState {
  readonly type: 'informer'
  readonly client: string
  readonly objects: Objects
}

export interface FaultRecord {
  readonly type: 'fault'
  readonly kind: string
  readonly startMs: number
  readonly endMs: number
  /** What exactly was done. */
  readonly what?: string
  /** How it ended, in a word or two. */
  readonly outcome?: string
}

/** The store was replaced while no server ran: by a repair of what was damaged, or from a snapshot. */
export interface EpochRecord {
  readonly type: 'epoch'
  /** Before the server was started again. */
  readonly startMs: number
  /** The store continues after this revision. */
  readonly revision: number
  /** The objects with which it continues. */
  readonly objects: Objects
  /** Acknowledged writes that are reported as lost, or may be so. */
  readonly lost: readonly RevisionRange[]
  /** The objects are those of a snapshot of this revision. */
  readonly snapshotRevision?: number
}

/** Revisions after `after`, up to `last`. */
export interface RevisionRange {
  readonly after: number
  readonly last: number
}

/** Something that the tool itself has seen and that must not happen. */
export interface ViolationRecord {
  readonly type: 'violation'
  readonly text: string
}

/** One line for messages. */
export function describeOperation(operation: Operation): string {
  const { client, verb, key, value, expectedRevision, outcome, callMs, returnMs } = operation
  const input = [
    ...(value === undefined ? [] : [`value ${value}`]),
    ...(expectedRevision === undefined ? [] : [`if at ${expectedRevision}`]),
  ]
  const times = `${callMs.toFixed(1)} to ${returnMs.toFixed(1)} ms`
  return `${[`${client}: ${verb} ${key}`, ...input].join(' ')} = ${describeOutcome(outcome)} (${times})`
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.type) {
    case 'ok':
      return outcome.version === undefined ? 'ok' : describeVersion(outcome.version)
    case 'failed':
      return outcome.reason
    case 'unknown':
      return `unknown (${outcome.reason})`
  }
}

export function describeVersion(version: Version | undefined): string {
  return version === undefined ? 'absent' : `${version.value} at ${version.revision}`
}
