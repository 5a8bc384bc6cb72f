/** What the store says to the thread that writes its log, and what comes back. */
export type Command =
  | { readonly type: 'append'; readonly batch: ArrayBuffer }
  | { readonly type: 'forget'; readonly compacted: number; readonly revisions: readonly number[] }
  | { readonly type: 'reserve' }
  | { readonly type: 'close' }

export interface Request {
  readonly id: number
  readonly command: Command
}

export interface Reply {
  readonly id: number
  /** Why the command failed; undefined when it succeeded. */
  readonly error: string | undefined
  /** It failed for want of room, and left no trace. */
  readonly isFull: boolean
}

export interface WorkerOptions {
  readonly path: string
  readonly syncDelayMs: number
}

/** The reply to no request: the database is open, or could not be opened. */
export const openedId = 0
