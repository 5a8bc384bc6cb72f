import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { ProcessMemory } from '../process-usage.ts'
import { collectGarbage } from './garbage-collection.ts'

/** What is kept for running requests and for deletions, at most half of the limit. */
const reserve = { share: 0.2, bytesMin: 160 * 1024 * 1024 }

/** Reading the figures takes about as long as serving a small request. */
const checkIntervalMs = 50

/** A collection takes a second per gigabyte. */
const collectionIntervalMs = 10_000

export function processMemory(): ProcessMemory {
  const { heap_size_limit: heapBytesMax } = getHeapStatistics()
  const residentBytesMax = Math.min(process.constrainedMemory() || Infinity, totalmem())
  let checkedMs = -Infinity
  let collectedMs = -Infinity
  let isNearlyExhausted = false
  const isOver = (): boolean => {
    // The heap includes garbage.
    const { used_heap_size: heapBytes } = getHeapStatistics()
    return (
      heapBytes > withoutReserve(heapBytesMax) || process.memoryUsage.rss() > withoutReserve(residentBytesMax)
    )
  }
  return {
    heapBytesMax,
    isNearlyExhausted: () => {
      const nowMs = performance.now()
      if (nowMs - checkedMs < checkIntervalMs) return isNearlyExhausted
      isNearlyExhausted = isOver()
      if (isNearlyExhausted && nowMs - collectedMs > collectionIntervalMs) {
        collectGarbage()
        collectedMs = performance.now()
        isNearlyExhausted = isOver()
      }
      checkedMs = performance.now()
      return isNearlyExhausted
    },
  }
}

function withoutReserve(bytesMax: number): number {
  return Math.max(bytesMax / 2, Math.min(bytesMax * (1 - reserve.share), bytesMax - reserve.bytesMin))
}
