import type { Platform } from '#/platform/platform.ts'

/** Clock control of a test cluster, with virtual or real time. */
export interface TestTime {
  readonly platform: Platform
  readonly isReal: boolean
  /** Runs the cluster until the promise settles. */
  readonly runUntil: <T>(promise: Promise<T>) => Promise<T>
  advance(ms: number): Promise<void>
  /** Runs the cluster until the condition has held for a while. Returns false after the timeout. */
  settle(isIdle: () => boolean, withinMs: number): Promise<boolean>
  /** Default timeout of `settle`. */
  readonly settleMsUsual: number
}
