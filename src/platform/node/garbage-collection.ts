/**
 * Tunes V8's garbage collector for a long-running, mostly idle process. By default V8's memory reducer
 * collects the whole heap repeatedly when little is allocated, and keeps the heap limit so tight that the
 * objects of a few heartbeats are copied many times; with many nodes this is most of the CPU usage of an idle
 * cluster. By default it also collects the whole heap whenever buffers have grown by 64 MB, however large the heap is.
 * Here the heap and the buffers may double before a full collection, and after a load has ended, the first one after
 * startup, memory is returned to the operating system twice: caches are emptied, a full collection frees
 * objects, a second one the pages that they were on, if these are a large part of the heap, and then the
 * allocator its free memory.
 */
import {
  constants,
  performance,
  PerformanceObserver,
  type PerformanceEntry,
  type PerformanceNodeEntry,
} from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Timer } from '../platform.ts'
import { trimAllocator } from './allocator.ts'

const engineFlags = [
  '--memory-reducer-gc-count=0',
  '--heap-growing-percent=100',
  '--external-memory-accounted-in-global-limit',
  '--external-memory-max-growing-factor=2',
]

/**
 * A load has ended when no full collection has occurred for the first time, and the event loop was not busy. At the
 * second one the history of what was changed by the load has been compacted, too.
 */
const quietMs = [30_000, 660_000]

/** Share of time; collections of a large heap are rare also under load. */
const busyShare = 0.5

/** Between the steps, so that requests wait for one of them at most. */
const pauseMs = 1_000

/** `onIdle` is called before memory is returned. */
export function collectGarbageWhenIdle(clock: Clock, onIdle = (): void => undefined): Disposable {
  for (const flag of engineFlags) setFlagsFromString(flag)
  let waiting: Timer | undefined
  const later = (delayMs: number, work: () => void): void => {
    waiting?.cancel()
    waiting = clock.setTimer(delayMs, work)
  }
  const releaseAfter = ([delayMs, ...rest]: readonly number[]): void => {
    if (delayMs === undefined) return
    const trim = (): void => {
      trimAllocator()
      releaseAfter(rest)
    }
    const compact = (): void => {
      if (isCompactionWorthwhile(getHeapStatistics())) runGc({ type: 'major', flavor: 'last-resort' })
      later(pauseMs, trim)
    }
    const collect = (): void => {
      collectGarbage()
      later(pauseMs, compact)
    }
    const before = performance.eventLoopUtilization()
    later(delayMs, () => {
      if (performance.eventLoopUtilization(before).utilization > busyShare) return releaseAfter(quietMs)
      onIdle()
      // A weak reference keeps its object until the end of the turn in which it was created.
      later(pauseMs, collect)
    })
  }
  const observer = new PerformanceObserver(list => {
    if (list.getEntries().some(isOfLoad)) releaseAfter(quietMs)
  })
  observer.observe({ entryTypes: ['gc'] })
  // The start is a load, even if it was too short for a full collection.
  releaseAfter(quietMs)
  return {
    [Symbol.dispose]: () => {
      observer.disconnect()
      waiting?.cancel()
    },
  }
}

/** Runs one full garbage collection. */
export function collectGarbage(): void {
  runGc({ type: 'major' })
}

interface GcOptions {
  readonly type: 'major'
  /** `last-resort` also empties fragmented pages and releases empty ones. It takes twice as long. */
  readonly flavor?: 'last-resort'
}

function runGc(options: GcOptions): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: GcOptions) => void
  setFlagsFromString('--no-expose-gc')
  collect(options)
}

/** Right after a collection: true if the heap has at least half of what it needs as free space on its pages. */
export function isCompactionWorthwhile(heap: HeapSize): boolean {
  const { used_heap_size: usedBytes, total_heap_size: totalBytes } = heap
  const freeBytes = totalBytes - usedBytes
  return freeBytes > usedBytes / 2 && freeBytes > freeBytesMin && usedBytes < usedBytesMax
}

export interface HeapSize {
  readonly used_heap_size: number
  readonly total_heap_size: number
}

const freeBytesMin = 16 * 1024 * 1024

/** Collecting more takes seconds. */
const usedBytesMax = 1024 ** 3

/** True for a full collection that was not forced by `runGc`. */
function isOfLoad(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceNodeEntry
  const { kind, flags = 0 } = detail as { readonly kind: number; readonly flags?: number }
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR && (flags & forcedFlags) === 0
}

const forcedFlags =
  constants.NODE_PERFORMANCE_GC_FLAGS_FORCED | constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE
