/** Shared by all parts of one simulation. */
import type { Random } from '../platform.ts'
import type { Trace } from './trace.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface World {
  readonly seed: bigint
  readonly time: VirtualTime
  readonly trace: Trace
  /** Random numbers of the simulation itself: lost messages, disk latency. */
  readonly random: Random
  /** Reports an error that has no caller; `run` throws it. */
  fail(error: unknown): void
}

/** A promise that never settles, for code of a dead host. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {})
}

/** An error with a `code`, like Node's. */
export function systemError(code: string, message: string): Error & { readonly code: string } {
  return Object.assign(new Error(`${code}: ${message}`), { code })
}
