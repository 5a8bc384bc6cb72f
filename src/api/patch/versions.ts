/** Three versions of a value, from which a patch is made. */
export interface Versions<T> {
  /** What was last applied; `undefined` when nothing was. */
  readonly original: T | undefined
  readonly modified: T
  /** What is there now. */
  readonly current: T
}
