/**
 * How the engine collects garbage in a program that lives long and does little most of the time. Left to itself it sees
 * that little happens, and goes to great lengths to save memory: it collects the whole heap again and again, and leaves
 * so little room for new objects that what a handful of heartbeats makes is copied many times. With many nodes that is
 * most of what an idle cluster costs. Here it waits until the heap has doubled, and collects once when a load is over:
 * the start, which leaves behind a quarter of the memory, is the first.
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

/** Without a collection for so long there is no load any more. */
const quietMs = 30_000

export function collectWhenQuiet(clock: Clock): Disposable {
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

/** Collects garbage once, from the whole heap. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { readonly type: 'major' }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major' })
}

/** Whether the whole heap was collected, and not because it was asked for here. */
function isOfHeap(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceNodeEntry
  const { kind, flags } = detail as { readonly kind: number; readonly flags: number }
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR && flags !== constants.NODE_PERFORMANCE_GC_FLAGS_FORCED
}
