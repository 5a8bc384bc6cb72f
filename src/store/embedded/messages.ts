/** The commands to the log writer thread, and its replies. */
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
  /** The error message; undefined on success. */
  readonly error: string | undefined
  /** The disk was full; the command had no effect. */
  readonly isFull: boolean
}

export interface WorkerOptions {
  readonly path: string
  readonly syncDelayMs: number
}

/** Reserved id for the first reply: the database was opened, or could not be. */
export const openedId = 0
