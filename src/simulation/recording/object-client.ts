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
  /** Undefined when it failed. The timeout is that of each page. */
  list(request: ListRequest, timeoutMs: number): Promise<ListResult | 'expired' | undefined>
  /** Resolves with the end of the watch. */
  watch(request: WatchRequest): Promise<WatchSession['end']>
  /** Follows the objects until aborted. */
  startInformer(signal: AbortSignal): () => InformerState['objects']
}

export type ObjectRequest = Pick<Operation, 'verb' | 'key' | 'value' | 'expectedRevision' | 'isStale'>

export type ListRequest = Pick<Listing, 'match' | 'requestedRevision'> & {
  /** The size of a page. */
  readonly limit?: number
  /** Between two pages. */
  readonly pagePauseMs?: number
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
export function outcomeOfError({ code = 500, reason = '', details }: ErrorStatus): Outcome {
  if (code >= 500) return { type: 'unknown', reason: `${code} ${reason}` }
  // The namespace can be lost with a damaged store.
  const isOfObject = failureReasons.has(reason) && details?.kind !== 'namespaces'
  return { type: 'failed', reason: isOfObject ? (reason as FailureReason) : 'Rejected' }
}

/** Of a Status. */
export interface ErrorStatus {
  readonly code?: number | undefined
  readonly reason?: string | undefined
  readonly details?: { readonly kind?: string | undefined } | undefined
}
