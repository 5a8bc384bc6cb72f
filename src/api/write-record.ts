/** A write as the API server lists it for traces and history: one line of `GET /k8ts/writes`. */
import type { Origin } from './origin.ts'

export interface WriteRecord {
  readonly revision: number
  /** Wall time at which the write became visible. */
  readonly timeMs: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: WrittenObject
  readonly origin?: Origin | undefined
}

export interface WrittenObject {
  readonly apiVersion: string
  readonly kind: string
  readonly resource: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly uid: string
}
