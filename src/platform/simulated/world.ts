/** What every part of one simulation shares. */
import type { Random } from '../platform.ts'
import type { Trace } from './trace.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface World {
  readonly seed: bigint
  readonly time: VirtualTime
  readonly trace: Trace
  /** The draws of the simulation itself: which message is lost, how long a disk takes. */
  readonly random: Random
  /** An error that no caller is there to catch; it comes out of `run`. */
  fail(error: unknown): void
}

/** What a dead host's code waits for: it stops where it stands and never hears why. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {})
}

/** An error as Node would give it: matched by its code. */
export function systemError(code: string, message: string): Error & { readonly code: string } {
  return Object.assign(new Error(`${code}: ${message}`), { code })
}
