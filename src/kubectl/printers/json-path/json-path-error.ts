import type { GoValue } from '../go-format.ts'

/** A template is invalid, or does not fit the object. */
export class JsonPathError extends Error {
  /** Found before the failure: for a filter that tests only whether something exists, this is enough. */
  readonly found: readonly GoValue[]

  constructor(message: string, found: readonly GoValue[] = []) {
    super(message)
    this.name = 'JsonPathError'
    this.found = found
  }
}
