import { connectHttp, nodePlatform } from '#/platform/node.ts'
import type { TestTime } from './test-time.ts'

/** Polling interval; `quietMs` is the time for which the cluster must be idle. */
const stepMs = 10
const quietMs = 200

export function realTime(): TestTime {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const { clock } = platform
  return {
    platform,
    isReal: true,
    connectHttp,
    settleMsUsual: 60_000,
    runUntil: promise => promise,
    advance: ms => clock.sleep(ms),
    settle: async (isIdle, withinMs) => {
      const startedMs = clock.monotonicMs()
      let busyMs = startedMs
      while (clock.monotonicMs() - busyMs < quietMs) {
        if (clock.monotonicMs() - startedMs > withinMs) return false
        await clock.sleep(stepMs)
        if (!isIdle()) busyMs = clock.monotonicMs()
      }
      return true
    },
  }
}
