export interface Finding {
  readonly path: string
  /** Counted from 1. */
  readonly line: number
  readonly text: string
}
