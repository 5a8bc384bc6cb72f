/**
 * Requests that wait for seats. Each queue gets its turn by what it has used so far, in seats times time, as
 * in start-time fair queuing: a request begins, in virtual time, where the one before it in its queue ended,
 * and the earliest begins first. How long a request takes is known only afterwards, and settled then.
 */
import { Deque } from '#/base/deque.ts'
import { LruMap } from '#/base/lru-map.ts'
import { dealHand } from './deal-hand.ts'

export interface QueuingLimits {
  readonly queues: number
  readonly handSize: number
  readonly queueLengthMax: number
}

export interface Waiting {
  readonly seats: number
  /** Called when it is the request's turn. */
  readonly start: (charge: Charge) => void
  /** No longer waits: it is passed over when its turn comes. */
  isGone: boolean
}

/** What a queue was charged with a request that is running. */
export interface Charge {
  readonly queue: FairQueue
  readonly seats: number
  readonly estimatedMs: number
}

export class FairQueue {
  readonly waiting = new Deque<Waiting>()
  /** Those of `waiting` that have not gone. */
  length = 0
  /** Seats of its requests that are running. */
  running = 0
  /** Virtual time at which its next request begins. */
  next = 0
  /** How long its requests took, of late. */
  usualMs = initialMs
}

export class FairQueues {
  #limits: QueuingLimits
  readonly #queues = new Map<number, FairQueue>()
  /** Queues with somebody in them. */
  readonly #occupied = new Set<FairQueue>()
  /** When the request that was started last began, in virtual time. */
  #virtualTime = 0
  #hands = new LruMap<string, readonly number[]>(handsMax)

  constructor(limits: QueuingLimits) {
    this.#limits = limits
  }

  get isEmpty(): boolean {
    return this.#occupied.size === 0
  }

  /** Who waits already stays where he is. */
  setLimits(limits: QueuingLimits): void {
    const { queues, handSize } = this.#limits
    if (queues !== limits.queues || handSize !== limits.handSize) this.#hands = new LruMap(handsMax)
    this.#limits = limits
  }

  /** The queue it waits in; undefined when that is full. */
  add(flow: string, request: Waiting): FairQueue | undefined {
    const queue = this.#choose(flow)
    if (queue.length >= this.#limits.queueLengthMax) return undefined
    // Whoever comes after a pause has no claim on the time in which he did not ask for anything.
    if (queue.length === 0 && queue.running === 0) queue.next = Math.max(queue.next, this.#virtualTime)
    queue.waiting.push(request)
    queue.length++
    this.#occupied.add(queue)
    return queue
  }

  /** A request has given up. */
  leave(queue: FairQueue, request: Waiting): void {
    request.isGone = true
    this.#shrink(queue)
    const gone = queue.waiting.length - queue.length
    if (gone <= goneMax) return
    for (const each of queue.waiting.take(queue.waiting.length)) if (!each.isGone) queue.waiting.push(each)
  }

  /** The request whose turn it is, left where it is. */
  peek(): { readonly request: Waiting; readonly queue: FairQueue } | undefined {
    let first: FairQueue | undefined
    // Of several whose turn it is alike the newcomer is first: who floods has been here all along.
    for (const queue of this.#occupied) if (first === undefined || queue.next <= first.next) first = queue
    if (first === undefined) return undefined
    while (first.waiting.at(0)!.isGone) first.waiting.take(1)
    return { request: first.waiting.at(0)!, queue: first }
  }

  /** Takes the request that `peek` has shown. */
  start(queue: FairQueue): Charge {
    const [request] = queue.waiting.take(1)
    const { seats } = request!
    const estimatedMs = queue.usualMs
    this.#virtualTime = queue.next
    queue.next += seats * estimatedMs
    queue.running += seats
    this.#shrink(queue)
    return { queue, seats, estimatedMs }
  }

  finish({ queue, seats, estimatedMs }: Charge, tookMs: number): void {
    queue.running -= seats
    queue.next += seats * (tookMs - estimatedMs)
    queue.usualMs += (tookMs - queue.usualMs) * learning
  }

  #shrink(queue: FairQueue): void {
    queue.length--
    if (queue.length > 0) return
    queue.waiting.take(queue.waiting.length)
    this.#occupied.delete(queue)
    if (this.#occupied.size > 0) return
    // Nobody waits: all are even again.
    this.#queues.clear()
    this.#virtualTime = 0
  }

  /** Of the queues of a flow the one in which least is going on. */
  #choose(flow: string): FairQueue {
    const { queues, handSize } = this.#limits
    let hand = this.#hands.get(flow)
    if (hand === undefined) this.#hands.set(flow, (hand = dealHand(flow, queues, handSize)))
    let best: FairQueue | undefined
    for (const index of hand) {
      let queue = this.#queues.get(index)
      if (queue === undefined) this.#queues.set(index, (queue = new FairQueue()))
      if (best === undefined || queue.length + queue.running < best.length + best.running) best = queue
    }
    return best!
  }
}

/** What a request is taken to need as long as nothing is known of its queue. */
const initialMs = 3

/** How much the last request counts in what is usual. */
const learning = 0.25

/** Requests that have gone and are still in a queue; past that it is cleared of them. */
const goneMax = 50

/** Flows whose hands are remembered; those of others are dealt again, and come out the same. */
const handsMax = 1_000
