import type { Platform } from '#/platform/platform.ts'

/** How time passes in a cluster inside a test. */
export interface TestTime {
  readonly platform: Platform
  readonly isReal: boolean
  /** Lets the cluster live until the promise has settled. */
  readonly drive: <T>(promise: Promise<T>) => Promise<T>
  advance(ms: number): Promise<void>
  /** Lets the cluster live until the condition has held for a while. Says whether it did before the time was over. */
  settle(isAtRest: () => boolean, withinMs: number): Promise<boolean>
  /** How long something may take that is to come to rest, if nobody says otherwise. */
  readonly settleMsUsual: number
}
