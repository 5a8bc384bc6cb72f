/**
 * Tunes V8's garbage collector for a long-running, mostly idle process. By default V8's memory reducer
 * collects the whole heap repeatedly when little is allocated, and keeps the heap limit so tight that the
 * objects of a few heartbeats are copied many times; with many nodes this is most of the CPU usage of an idle
 * cluster. Here the heap may double before a full collection, and one full collection runs after a load has
 * ended, the first after startup, which leaves a quarter of the memory as garbage.
 */
import {
  constants,
  PerformanceObserver,
  type PerformanceEntry,
  type PerformanceNodeEntry,
} from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Timer } from '../platform.ts'

const engineFlags = ['--memory-reducer-gc-count=0', '--heap-growing-percent=100']

/** A load has ended when no full collection has occurred for this time. */
const quietMs = 30_000

export function collectGarbageWhenIdle(clock: Clock): Disposable {
  for (const flag of engineFlags) setFlagsFromString(flag)
  let waiting: Timer | undefined
  const observer = new PerformanceObserver(list => {
    if (!list.getEntries().some(isOfHeap)) return
    waiting?.cancel()
    waiting = clock.setTimer(quietMs, collectGarbage)
  })
  observer.observe({ entryTypes: ['gc'] })
  return {
    [Symbol.dispose]: () => {
      observer.disconnect()
      waiting?.cancel()
    },
  }
}

/** Runs one full garbage collection. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { readonly type: 'major' }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major' })
}

/** True for a full collection that was not forced by `collectGarbage`. */
function isOfHeap(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceNodeEntry
  const { kind, flags } = detail as { readonly kind: number; readonly flags: number }
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR && flags !== constants.NODE_PERFORMANCE_GC_FLAGS_FORCED
}
