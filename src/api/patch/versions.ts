/** Three versions of a value, the input of a patch. */
export interface Versions<T> {
  /** The last applied configuration; `undefined` if there is none. */
  readonly original: T | undefined
  readonly modified: T
  /** The live value. */
  readonly current: T
}
