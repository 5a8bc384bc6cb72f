/**
 * Pods that wait for a node. Active ones are taken in order; one that was refused waits until something happens that
 * may help it, by what its plugins say of that, and then until its backoff is over. Nothing is forgotten: who has
 * waited for long is tried again though nothing happened, and what happened while a pod was being looked at counts too.
 */
import { Heap, type HeapEntry } from '#/base/heap.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import type { QueuedPod, Refusal } from './framework.ts'

export interface SchedulingQueueOptions {
  readonly clock: Clock
  readonly compare: (left: QueuedPod, right: QueuedPod) => number
  /** Why the pod is not to be queued yet. */
  readonly preEnqueue: (pod: Pod) => Refusal | undefined
  /** How long a pod waits after a failure at least, and at most however often it failed. */
  readonly backoffMs?: { readonly first: number; readonly max: number }
}

/** Something that happened, as far as pods that wait are concerned. */
export interface ClusterEvent {
  /** Whether it may help a pod that these plugins refused. */
  readonly mayHelp: (pod: Pod, plugins: ReadonlySet<string>) => boolean
}

/** Who was refused and heard of nothing is tried again after so long. */
const waitingMsMax = 300_000

/** Events that are remembered while pods are being looked at; past that all of them are taken to help. */
const recentEventsMax = 1_000

const backoffUsual = { first: 1_000, max: 10_000 }

type Place = 'active' | 'backoff' | 'waiting' | 'gated' | 'taken'

interface Waiter {
  queued: QueuedPod
  place: Place
  /** In the heap of its place, when that is one. */
  entry: HeapEntry<Waiter> | undefined
  /** Who refused it last. */
  plugins: ReadonlySet<string>
  failures: number
  failedMs: number
  /** How many events there had been when it was taken. */
  takenAt: number
  /** It became another while it was taken. */
  isChanged: boolean
}

export class SchedulingQueue {
  readonly #clock: Clock
  readonly #options: SchedulingQueueOptions
  readonly #backoffMs: { readonly first: number; readonly max: number }
  readonly #waiters = new Map<string, Waiter>()
  readonly #active: Heap<Waiter>
  readonly #backoff: Heap<Waiter>
  /** Those that wait for something to happen, in the order in which they began to. */
  readonly #waiting = new Set<Waiter>()
  readonly #takers: ((queued: QueuedPod | undefined) => void)[] = []
  /** What happened since the first of those that are taken was taken. */
  readonly #recent: ClusterEvent[] = []
  #eventCount = 0
  #takenCount = 0
  #sequence = 0
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined
  #isClosed = false

  constructor(options: SchedulingQueueOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#backoffMs = options.backoffMs ?? backoffUsual
    this.#active = new Heap((left, right) => options.compare(left.queued, right.queued))
    this.#backoff = new Heap((left, right) => this.#backoffEndMs(left) - this.#backoffEndMs(right))
  }

  /** How many pods are where. */
  get sizes(): Readonly<Record<Place, number>> {
    const sizes = { active: 0, backoff: 0, waiting: 0, gated: 0, taken: 0 }
    for (const { place } of this.#waiters.values()) sizes[place]++
    return sizes
  }

  /** Whether somebody could be taken now, or is being looked at. */
  get isIdle(): boolean {
    return this.#active.size === 0 && this.#takenCount === 0
  }

  /** Pods that could be taken now, or are being looked at. */
  get busyKeys(): readonly string[] {
    return [...this.#waiters]
      .filter(([, { place }]) => place === 'active' || place === 'taken')
      .map(([key]) => key)
  }

  /** Whether anybody wants to know what happens. */
  get cares(): boolean {
    return this.#waiting.size > 0 || this.#takenCount > 0
  }

  /** A pod that has no node, new or changed. */
  set(pod: Pod, isWorthAnotherTry = true): void {
    const key = keyOf(pod)
    const known = this.#waiters.get(key)
    if (known !== undefined && known.queued.pod.metadata?.uid !== pod.metadata?.uid) this.delete(key)
    const waiter = this.#waiters.get(key)
    if (waiter === undefined) {
      const addedMs = this.#clock.monotonicMs()
      const queued = { pod, key, addedMs, sequence: this.#sequence++, attempts: 0 }
      const made: Waiter = {
        queued,
        place: 'gated',
        entry: undefined,
        plugins: new Set(),
        failures: 0,
        failedMs: -Infinity,
        takenAt: 0,
        isChanged: false,
      }
      this.#waiters.set(key, made)
      return this.#enqueue(made)
    }
    waiter.queued = { ...waiter.queued, pod }
    if (waiter.place === 'gated') this.#enqueue(waiter)
    else if (waiter.place === 'active') this.#enqueue(this.#leave(waiter))
    else if (waiter.place === 'waiting' && isWorthAnotherTry) this.#enqueue(this.#leave(waiter))
    else if (waiter.place === 'taken' && isWorthAnotherTry) waiter.isChanged = true
  }

  /** A pod that has a node now, or is gone. */
  delete(key: string): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined) return
    if (waiter.place === 'taken') this.#release()
    this.#leave(waiter)
    this.#waiters.delete(key)
  }

  /** The next pod; undefined when the queue is closed. */
  take(): Promise<QueuedPod | undefined> {
    const waiter = this.#active.pop()
    if (waiter !== undefined) return Promise.resolve(this.#taken(waiter))
    if (this.#isClosed) return Promise.resolve(undefined)
    return new Promise(resolve => this.#takers.push(resolve))
  }

  /** The pod found no place: these plugins refused it; none when it was an error, which another try may not have. */
  refused(key: string, plugins: ReadonlySet<string>): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined || waiter.place !== 'taken') return
    waiter.plugins = plugins
    waiter.failures++
    waiter.failedMs = this.#clock.monotonicMs()
    // Who failed goes behind those that came meanwhile, or the same few would be tried again and again.
    waiter.queued = { ...waiter.queued, addedMs: waiter.failedMs }
    const missed = this.#recent.slice(Math.max(0, this.#recent.length - (this.#eventCount - waiter.takenAt)))
    const isForgotten = this.#eventCount - waiter.takenAt > this.#recent.length
    const isHelped =
      plugins.size === 0 ||
      isForgotten ||
      waiter.isChanged ||
      missed.some(event => event.mayHelp(waiter.queued.pod, plugins))
    this.#release()
    if (isHelped) this.#enqueue(waiter)
    else this.#wait(waiter)
  }

  /** Something happened that may help those that wait. */
  happened(event: ClusterEvent): void {
    if (this.#takenCount > 0) {
      this.#eventCount++
      this.#recent.push(event)
      if (this.#recent.length > recentEventsMax) this.#recent.shift()
    }
    for (const waiter of this.#waiting) {
      if (event.mayHelp(waiter.queued.pod, waiter.plugins)) this.#enqueue(this.#leave(waiter))
    }
  }

  /** A pod that waits is tried at once, unless it is held back: nothing will happen that could wake it. */
  activate(key: string): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined || waiter.place === 'taken' || waiter.place === 'active') return
    this.#leave(waiter)
    if (this.#options.preEnqueue(waiter.queued.pod) === undefined) this.#activate(waiter)
    else waiter.place = 'gated'
  }

  /** What held a pod back may be over. */
  reconsider(key: string): void {
    const waiter = this.#waiters.get(key)
    if (waiter?.place === 'gated') this.#enqueue(waiter)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.timer.cancel()
    for (const take of this.#takers.splice(0)) take(undefined)
  }

  #taken(waiter: Waiter): QueuedPod {
    waiter.place = 'taken'
    waiter.entry = undefined
    waiter.takenAt = this.#eventCount
    waiter.isChanged = false
    waiter.queued = { ...waiter.queued, attempts: waiter.queued.attempts + 1 }
    this.#takenCount++
    return waiter.queued
  }

  /** When nobody is being looked at any more, nobody can have missed anything. */
  #release(): void {
    this.#takenCount--
    if (this.#takenCount === 0) this.#recent.length = 0
  }

  /** Where a pod goes that may be tried: not before its gates are open, nor before its backoff is over. */
  #enqueue(waiter: Waiter): void {
    if (this.#options.preEnqueue(waiter.queued.pod) !== undefined) {
      waiter.place = 'gated'
    } else if (this.#backoffEndMs(waiter) > this.#clock.monotonicMs()) {
      waiter.place = 'backoff'
      waiter.entry = this.#backoff.push(waiter)
      this.#arm()
    } else {
      this.#activate(waiter)
    }
  }

  #activate(waiter: Waiter): void {
    const take = this.#takers.shift()
    if (take !== undefined) return take(this.#taken(waiter))
    waiter.place = 'active'
    waiter.entry = this.#active.push(waiter)
  }

  #wait(waiter: Waiter): void {
    waiter.place = 'waiting'
    this.#waiting.add(waiter)
    this.#arm()
  }

  #leave(waiter: Waiter): Waiter {
    if (waiter.entry !== undefined)
      (waiter.place === 'backoff' ? this.#backoff : this.#active).remove(waiter.entry)
    waiter.entry = undefined
    this.#waiting.delete(waiter)
    return waiter
  }

  #backoffEndMs({ failures, failedMs }: Waiter): number {
    const { first, max } = this.#backoffMs
    return failures === 0 ? -Infinity : failedMs + Math.min(max, first * 2 ** Math.min(failures - 1, 30))
  }

  /** One timer for whoever is due first. */
  #arm(): void {
    const [longest] = this.#waiting
    const backoff = this.#backoff.peek()
    const atMs = Math.min(
      backoff === undefined ? Infinity : this.#backoffEndMs(backoff),
      longest === undefined ? Infinity : longest.failedMs + waitingMsMax,
    )
    if (this.#isClosed || (this.#timer !== undefined && this.#timer.atMs <= atMs)) return
    this.#timer?.timer.cancel()
    this.#timer = undefined
    if (atMs === Infinity) return
    const delayMs = Math.max(1, Math.ceil(atMs - this.#clock.monotonicMs()))
    this.#timer = { atMs, timer: this.#clock.setTimer(delayMs, () => this.#due()) }
  }

  #due(): void {
    this.#timer = undefined
    const nowMs = this.#clock.monotonicMs()
    for (
      let next = this.#backoff.peek();
      next && this.#backoffEndMs(next) <= nowMs;
      next = this.#backoff.peek()
    ) {
      this.#activate(this.#leave(next))
    }
    for (const waiter of this.#waiting) {
      if (waiter.failedMs + waitingMsMax > nowMs) break
      this.#enqueue(this.#leave(waiter))
    }
    this.#arm()
  }
}
