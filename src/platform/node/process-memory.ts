import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { ProcessMemory } from '../process-usage.ts'
import { trimAllocator } from './allocator.ts'
import { collectGarbage } from './garbage-collection.ts'

/** What is kept for running requests and for deletions, at most half of the limit. */
const reserve = { share: 0.2, bytesMin: 160 * 1024 * 1024 }

/** Reading the figures takes about as long as serving a small request. */
const checkIntervalMs = 50

/** A collection takes a second per gigabyte. Each one that did not help doubles the interval. */
const collectionIntervalMs = { min: 10_000, max: 160_000 }

const trimDelayMs = 500

/** What `processMemory` reads and does; replaced in tests. */
export interface MemorySource {
  readonly nowMs: () => number
  /** The heap includes garbage. */
  readonly heapBytes: () => number
  readonly residentBytes: () => number
  /** Frees garbage and returns memory to the operating system. */
  readonly release: () => void
  readonly heapBytesMax: number
  readonly residentBytesMax: number
}

export interface IdleProcessMemory extends ProcessMemory {
  /** Reports the end of a load. */
  idle(): void
}

export function processMemory(source: MemorySource = ofThisProcess()): IdleProcessMemory {
  const { nowMs, heapBytesMax, residentBytesMax } = source
  let checkedMs = -Infinity
  let releasedMs = -Infinity
  let intervalMs = collectionIntervalMs.min
  let isNearlyExhausted = false
  const onIdle: (() => void)[] = []
  const isOver = (): boolean =>
    source.heapBytes() > withoutReserve(heapBytesMax) ||
    source.residentBytes() > withoutReserve(residentBytesMax)
  const release = (): boolean => {
    source.release()
    releasedMs = nowMs()
    const isStillOver = isOver()
    const { min, max } = collectionIntervalMs
    intervalMs = isStillOver ? Math.min(2 * intervalMs, max) : min
    return isStillOver
  }
  return {
    heapBytesMax,
    residentBytesMax,
    isNearlyExhausted: () => {
      if (nowMs() - checkedMs < checkIntervalMs) return isNearlyExhausted
      isNearlyExhausted = isOver()
      if (isNearlyExhausted && nowMs() - releasedMs > intervalMs) isNearlyExhausted = release()
      checkedMs = nowMs()
      return isNearlyExhausted
    },
    onIdle: release => void onIdle.push(release),
    idle: () => {
      for (const release of onIdle) release()
    },
  }
}

function ofThisProcess(): MemorySource {
  return {
    nowMs: () => performance.now(),
    heapBytes: () => getHeapStatistics().used_heap_size,
    residentBytes: () => process.memoryUsage.rss(),
    release: () => {
      collectGarbage()
      // V8 frees buffers in the background.
      setTimeout(trimAllocator, trimDelayMs).unref()
    },
    heapBytesMax: getHeapStatistics().heap_size_limit,
    residentBytesMax: Math.min(process.constrainedMemory() || Infinity, totalmem()),
  }
}

function withoutReserve(bytesMax: number): number {
  return Math.max(bytesMax / 2, Math.min(bytesMax * (1 - reserve.share), bytesMax - reserve.bytesMin))
}
