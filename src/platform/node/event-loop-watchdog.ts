/**
 * Finds turns of the event loop that take so long that other requests wait noticeably, and what caused them. It costs
 * nothing while the process is idle: a turn is measured from the first work that names itself until the event loop goes
 * on; only while the process is busy a timer finds blocks by work that has no name, too.
 */
import { PerformanceObserver, type EventLoopUtilization } from 'node:perf_hooks'
import type { EventLoopBlock, EventLoopBlocks } from '../process-usage.ts'

/** Shorter ones are not reported. */
const blockMsMin = 50

/** A turn this long means that the process is busy. */
const busyTurnMs = 5
const tickMs = 50
/** Share of the time between two ticks that the event loop was not idle. */
const busyShare = 0.5

/** Garbage collections are reported by Node some turns later. */
const reportDelayMs = 20
/** Recent garbage collections that are remembered. */
const collectionsMax = 100

type Report = (block: EventLoopBlock) => void

interface Span {
  readonly startMs: number
  readonly endMs: number
}

/** A stretch of work, and the CPU time of this thread in it. */
interface Block extends Span {
  readonly cpuMs: number
  readonly kind: string
  readonly detail: string
}

export class EventLoopWatchdog {
  readonly #report: Report
  /** CPU time of this thread. */
  readonly #cpuMs: () => number
  readonly #collections: Span[] = []
  #isObserving = false
  /** Undefined between turns. */
  #turn: { readonly startMs: number; readonly cpuStartMs: number } | undefined
  #work = { kind: '', detail: '', startMs: 0 }
  /** The longest work of this turn so far. */
  #longest = { kind: '', detail: '', ms: 0 }
  #lastBlockEndMs = 0
  #isTicking = false

  constructor(report: Report, cpuMs = threadCpuMs) {
    this.#report = report
    this.#cpuMs = cpuMs
  }

  /** Names the work that follows until the next call. */
  begin(kind: string, detail: string): void {
    const nowMs = performance.now()
    if (this.#turn === undefined) this.#beginTurn(nowMs)
    else this.#endWork(nowMs)
    this.#work.kind = kind
    this.#work.detail = detail
    this.#work.startMs = nowMs
  }

  #beginTurn(nowMs: number): void {
    if (!this.#isObserving) this.#observeCollections()
    this.#turn = { startMs: nowMs, cpuStartMs: this.#cpuMs() }
    this.#longest.ms = 0
    setImmediate(this.#endTurn)
  }

  #endWork(nowMs: number): void {
    const ms = nowMs - this.#work.startMs
    if (ms <= this.#longest.ms) return
    this.#longest.kind = this.#work.kind
    this.#longest.detail = this.#work.detail
    this.#longest.ms = ms
  }

  readonly #endTurn = (): void => {
    const { startMs, cpuStartMs } = this.#turn!
    const endMs = performance.now()
    this.#endWork(endMs)
    this.#turn = undefined
    const ms = endMs - startMs
    if (ms >= busyTurnMs && !this.#isTicking) this.#tick()
    if (ms < blockMsMin) return
    const { kind, detail, ms: longestMs } = this.#longest
    // Otherwise the turn is long because it has much work, none of which is long.
    const isOne = longestMs >= ms / 2
    const cpuMs = this.#cpuMs() - cpuStartMs
    this.#found({ startMs, endMs, cpuMs, kind, detail: isOne ? detail : 'many at once' })
  }

  /** Finds blocks outside the measured turns until the process is no longer busy. */
  #tick(): void {
    this.#isTicking = true
    const startMs = performance.now()
    const cpuStartMs = this.#cpuMs()
    const before: EventLoopUtilization = performance.eventLoopUtilization()
    setTimeout(() => {
      const endMs = performance.now()
      const blockStartMs = Math.max(startMs + tickMs, this.#lastBlockEndMs)
      // The end of a measured turn reports it.
      if (this.#turn === undefined && endMs - blockStartMs >= blockMsMin) {
        const cpuMs = this.#cpuMs() - cpuStartMs
        const { kind, detail } = this.#work
        this.#found({ startMs: blockStartMs, endMs, cpuMs, kind: 'other', detail: `after ${kind} ${detail}` })
      }
      if (performance.eventLoopUtilization(before).utilization >= busyShare) this.#tick()
      else this.#isTicking = false
    }, tickMs).unref()
  }

  #found(block: Block): void {
    this.#lastBlockEndMs = block.endMs
    setTimeout(() => {
      const explained = this.#explain(block)
      count(explained)
      this.#report(explained)
    }, reportDelayMs).unref()
  }

  #explain({ startMs, endMs, cpuMs, kind, detail }: Block): EventLoopBlock {
    const durationMs = endMs - startMs
    const collectingMs = this.#collections.reduce((sum, each) => {
      return sum + Math.max(0, Math.min(each.endMs, endMs) - Math.max(each.startMs, startMs))
    }, 0)
    if (cpuMs < durationMs / 2) return { cause: 'not running', detail, durationMs }
    if (collectingMs >= durationMs / 2) return { cause: 'garbage collection', detail: '', durationMs }
    return { cause: kind, detail, durationMs }
  }

  #observeCollections(): void {
    this.#isObserving = true
    const observer = new PerformanceObserver(list => {
      for (const { startTime, duration } of list.getEntries()) {
        this.#collections.push({ startMs: startTime, endMs: startTime + duration })
      }
      this.#collections.splice(0, this.#collections.length - collectionsMax)
    })
    observer.observe({ entryTypes: ['gc'] })
  }
}

/** By cause. A process has one event loop. */
const blocks = new Map<string, EventLoopBlocks>()

/** All blocks since the process started. */
export function eventLoopBlocks(): readonly EventLoopBlocks[] {
  return [...blocks.values()]
}

function count({ cause, durationMs }: EventLoopBlock): void {
  const before = blocks.get(cause)
  blocks.set(cause, {
    cause,
    count: (before?.count ?? 0) + 1,
    totalMs: (before?.totalMs ?? 0) + durationMs,
    longestMs: Math.max(before?.longestMs ?? 0, durationMs),
  })
}

/** Less than the elapsed time if the thread had to wait for a CPU or for the disk. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
