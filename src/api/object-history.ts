/** The versions of an object as the API server lists them: `GET <object path>?history=true`. */
import type { Origin } from './origin.ts'
import type { JsonValue } from './text/json-value.ts'

export interface ObjectHistory {
  readonly kind: 'ObjectHistory'
  readonly apiVersion: 'k8ts.io/v1alpha1'
  /** `continue` is the value of `before` for the versions that follow, if there are any. */
  readonly metadata: { readonly continue?: string }
  readonly retainedSince: RetainedSince
  /** Newest first. */
  readonly items: readonly ObjectVersion[]
}

/** Start of the history that is kept. */
export interface RetainedSince {
  readonly revision: number
  /** RFC 3339, with milliseconds. */
  readonly time: string
}

export interface ObjectVersion {
  readonly revision: number
  /** RFC 3339, with milliseconds. */
  readonly time: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly origin?: Origin
  /** Of a deletion the last state. Absent if it cannot be decrypted. */
  readonly object?: { readonly [key: string]: JsonValue }
}
