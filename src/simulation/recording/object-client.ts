/** The interface between the workload and a kind of client. Requests are never repeated: each has one outcome. */
import type {
  FailureReason,
  InformerState,
  Listing,
  Operation,
  Outcome,
  Objects,
  WatchedEvent,
  WatchSession,
} from '../history/history.ts'

export interface ObjectClient {
  perform(request: ObjectRequest, timeoutMs: number): Promise<Outcome>
  /** Undefined when it failed. */
  list(request: ListRequest, timeoutMs: number): Promise<ListResult | undefined>
  /** Resolves with the end of the watch. */
  watch(request: WatchRequest): Promise<WatchSession['end']>
  /** Follows the objects until aborted. */
  startInformer(signal: AbortSignal): () => InformerState['objects']
}

export type ObjectRequest = Pick<Operation, 'verb' | 'key' | 'value' | 'expectedRevision' | 'isStale'>

export type ListRequest = Pick<Listing, 'match' | 'requestedRevision'> & {
  /** The size of a page. */
  readonly limit?: number
}

export interface ListResult {
  readonly revision: number
  readonly objects: Objects
}

export interface WatchRequest {
  /** Absent: the server sends the objects that there are first. */
  readonly afterRevision?: number
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
  readonly onEvent: (event: WatchedEvent) => void
  readonly onInitialEventsEnd: (revision: number) => void
}

const failureReasons: ReadonlySet<string> = new Set(['NotFound', 'AlreadyExists', 'Conflict'])

/** The outcome that an error response of the API shows. After a server error, a write may have happened. */
export function outcomeOfError(code: number, reason: string): Outcome {
  if (code >= 500) return { type: 'unknown', reason: `${code} ${reason}` }
  return { type: 'failed', reason: failureReasons.has(reason) ? (reason as FailureReason) : 'Rejected' }
}
