import { readdirSync } from 'node:fs'
import type { ProcessUsage } from '../process-usage.ts'

export function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    heapBytes: heapUsed,
    startedMs: performance.timeOrigin,
    openFiles: countOpenFiles(),
  }
}

function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
