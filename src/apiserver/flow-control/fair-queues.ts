/**
 * Start-time fair queuing of requests that wait for seats. Work is measured in seats × time. In virtual time
 * a request starts when the previous request of its queue ends, and the earliest start is dispatched first.
 * The execution time is estimated at dispatch and corrected at completion.
 */
import { createHash } from 'node:crypto'
import { Queue } from '#/base/queue.ts'
import { LruMap } from '#/base/lru-map.ts'
import type { VirtualTimes } from '../metrics/flow-control.ts'
import type { FlowRequest } from './flow-request.ts'

export interface QueuingLimits {
  readonly queues: number
  readonly handSize: number
  readonly queueLengthMax: number
}

export interface QueuedRequest {
  readonly flowRequest: FlowRequest
  readonly seats: number
  /** Called when the request is dispatched. */
  readonly start: (charge: DispatchedWork) => void
  /** The request was canceled or timed out; it is skipped when dequeued. */
  isCanceled: boolean
}

/** The estimated work charged to a queue for an executing request. */
export interface DispatchedWork {
  readonly queue: FairQueue
  readonly seats: number
  readonly estimatedMs: number
}

export class FairQueue {
  readonly index: number
  readonly waiting = new Queue<QueuedRequest>()
  /** Number of entries in `waiting` that are not gone. */
  length = 0
  /** Seats of executing requests. */
  running = 0
  executing = 0
  /** Virtual start time of the next request. */
  virtualStart = 0
  /** Moving average of execution times. */
  estimatedMs = initialMs

  constructor(index: number) {
    this.index = index
  }

  /** The requests that wait, in order. */
  get requests(): readonly QueuedRequest[] {
    const { waiting } = this
    return Array.from({ length: waiting.length }, (_, index) => waiting.at(index)!).filter(
      each => !each.isCanceled,
    )
  }

  get waitingSeats(): number {
    return this.requests.reduce((sum, { seats }) => sum + seats, 0)
  }
}

export class FairQueues {
  #limits: QueuingLimits
  readonly #queues = new Map<number, FairQueue>()
  /** Queues with waiting requests. */
  readonly #occupied = new Set<FairQueue>()
  /** Virtual start time of the last dispatched request. */
  #virtualTime = 0
  #hands = new LruMap<string, readonly number[]>(handsMax)

  constructor(limits: QueuingLimits) {
    this.#limits = limits
  }

  get isEmpty(): boolean {
    return this.#occupied.size === 0
  }

  get limits(): QueuingLimits {
    return this.#limits
  }

  /** The queues that have been used since there were no waiting requests. */
  get queues(): Iterable<FairQueue> {
    return this.#queues.values()
  }

  get virtualTimes(): VirtualTimes {
    const starts = Array.from(this.#occupied, ({ virtualStart }) => virtualStart)
    const next = starts.length > 0 ? { min: Math.min(...starts), max: Math.max(...starts) } : undefined
    return { lastDispatched: this.#virtualTime, next }
  }

  /** Waiting requests keep their queues. */
  setLimits(limits: QueuingLimits): void {
    const { queues, handSize } = this.#limits
    if (queues !== limits.queues || handSize !== limits.handSize) this.#hands = new LruMap(handsMax)
    this.#limits = limits
  }

  /** Returns the queue, or undefined if it is full. */
  add(flow: string, request: QueuedRequest): FairQueue | undefined {
    const queue = this.#choose(flow)
    if (queue.length >= this.#limits.queueLengthMax) return undefined
    // An idle queue accumulates no credit: its virtual time is advanced.
    if (queue.length === 0 && queue.running === 0)
      queue.virtualStart = Math.max(queue.virtualStart, this.#virtualTime)
    queue.waiting.push(request)
    queue.length++
    this.#occupied.add(queue)
    return queue
  }

  /** Removes a request that was canceled or timed out. */
  leave(queue: FairQueue, request: QueuedRequest): void {
    request.isCanceled = true
    this.#shrink(queue)
    const gone = queue.waiting.length - queue.length
    if (gone <= goneMax) return
    for (const each of queue.waiting.take(queue.waiting.length))
      if (!each.isCanceled) queue.waiting.push(each)
  }

  /** The next request to dispatch, without removing it. */
  peek(): { readonly request: QueuedRequest; readonly queue: FairQueue } | undefined {
    let first: FairQueue | undefined
    // On a tie the queue that became active last wins, because a flooding flow has been active longer.
    for (const queue of this.#occupied)
      if (first === undefined || queue.virtualStart <= first.virtualStart) first = queue
    if (first === undefined) return undefined
    while (first.waiting.at(0)!.isCanceled) first.waiting.take(1)
    return { request: first.waiting.at(0)!, queue: first }
  }

  /** Dispatches the request that `peek` returned. */
  start(queue: FairQueue): DispatchedWork {
    const [request] = queue.waiting.take(1)
    const { seats } = request!
    const estimatedMs = queue.estimatedMs
    this.#virtualTime = queue.virtualStart
    queue.virtualStart += seats * estimatedMs
    queue.running += seats
    queue.executing++
    this.#shrink(queue)
    return { queue, seats, estimatedMs }
  }

  finish({ queue, seats, estimatedMs }: DispatchedWork, tookMs: number): void {
    queue.running -= seats
    queue.executing--
    queue.virtualStart += seats * (tookMs - estimatedMs)
    queue.estimatedMs += (tookMs - queue.estimatedMs) * learning
  }

  #shrink(queue: FairQueue): void {
    queue.length--
    if (queue.length > 0) return
    queue.waiting.take(queue.waiting.length)
    this.#occupied.delete(queue)
    if (this.#occupied.size > 0) return
    // With no waiting requests, fairness state is reset.
    this.#queues.clear()
    this.#virtualTime = 0
  }

  /** The queue of the flow's hand with the least waiting requests and executing seats. */
  #choose(flow: string): FairQueue {
    const { queues, handSize } = this.#limits
    let hand = this.#hands.get(flow)
    if (hand === undefined) this.#hands.set(flow, (hand = shuffleShard(flow, queues, handSize)))
    let best: FairQueue | undefined
    for (const index of hand) {
      let queue = this.#queues.get(index)
      if (queue === undefined) this.#queues.set(index, (queue = new FairQueue(index)))
      if (best === undefined || queue.length + queue.running < best.length + best.running) best = queue
    }
    return best!
  }
}

/** Initial estimate of the execution time. */
const initialMs = 3

/** Weight of the last request in the moving average. */
const learning = 0.25

/** Maximum number of gone requests in a queue before it is compacted. */
const goneMax = 50

/** Maximum number of cached hands; evicted ones are recomputed with the same result. */
const handsMax = 1_000

/**
 * Shuffle sharding: each flow is assigned a fixed hand of a few queues, `handSize` distinct numbers in [0, queues).
 * Two flows may share some queues but rarely all, so a flow that floods its queues leaves the others at least
 * one free queue.
 */
export function shuffleShard(flow: string, queues: number, handSize: number): readonly number[] {
  let entropy = createHash('sha256').update(flow).digest().readBigUInt64BE()
  const left = Array.from({ length: queues }, (_, index) => index)
  return Array.from({ length: Math.min(handSize, queues) }, () => {
    const size = BigInt(left.length)
    const [card] = left.splice(Number(entropy % size), 1)
    entropy /= size
    return card!
  })
}
