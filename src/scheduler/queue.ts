/**
 * The scheduling queue. Active pods are taken in order (activeQ); an unschedulable pod waits for an event
 * that may help according to the queueing hints of its plugins, and then until its backoff is over
 * (backoffQ). No pod is lost: after a maximum time it is retried without any event, and events that occur
 * during its scheduling cycle are considered too.
 */
import { Heap, type HeapEntry } from '#/base/heap.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import type { QueuedPod, Refusal } from './framework.ts'

export interface SchedulingQueueOptions {
  readonly clock: Clock
  readonly compare: (left: QueuedPod, right: QueuedPod) => number
  /** Returns a refusal to keep the pod gated. */
  readonly preEnqueue: (pod: Pod) => Refusal | undefined
  /** Initial and maximum backoff after failures. */
  readonly backoffMs?: { readonly first: number; readonly max: number }
}

/** A cluster event, as seen by unschedulable pods. */
export interface ClusterEvent {
  /** Queueing hint: true if it may make a pod schedulable that these plugins refused. */
  readonly mayHelp: (pod: Pod, plugins: ReadonlySet<string>) => boolean
}

/** Maximum time that a pod stays unschedulable before it is retried without an event. */
const waitingMsMax = 300_000

/**
 * Maximum events kept while pods are being scheduled; if exceeded, the pods are requeued as if one had
 * helped.
 */
const recentEventsMax = 1_000

const backoffUsual = { first: 1_000, max: 10_000 }

type Place = 'active' | 'backoff' | 'waiting' | 'gated' | 'taken'

interface Waiter {
  queued: QueuedPod
  place: Place
  /** Heap entry while in activeQ or backoffQ. */
  entry: HeapEntry<Waiter> | undefined
  /** The plugins that refused it in the last attempt. */
  plugins: ReadonlySet<string>
  failures: number
  failedMs: number
  /** Value of the event counter when it was taken. */
  takenAt: number
  /** True if the pod was updated while it was being scheduled. */
  isChanged: boolean
}

export class SchedulingQueue {
  readonly #clock: Clock
  readonly #options: SchedulingQueueOptions
  readonly #backoffMs: { readonly first: number; readonly max: number }
  readonly #waiters = new Map<string, Waiter>()
  readonly #active: Heap<Waiter>
  readonly #backoff: Heap<Waiter>
  /** Unschedulable pods, in the order in which they were added. */
  readonly #waiting = new Set<Waiter>()
  readonly #takers: ((queued: QueuedPod | undefined) => void)[] = []
  /** Events since the earliest of the pods being scheduled was taken. */
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

  /** Number of pods in each queue. */
  get sizes(): Readonly<Record<Place, number>> {
    const sizes = { active: 0, backoff: 0, waiting: 0, gated: 0, taken: 0 }
    for (const { place } of this.#waiters.values()) sizes[place]++
    return sizes
  }

  /** True if no pod is active or being scheduled. */
  get isIdle(): boolean {
    return this.#active.size === 0 && this.#takenCount === 0
  }

  /** Pods that are active or being scheduled. */
  get busyKeys(): readonly string[] {
    return [...this.#waiters]
      .filter(([, { place }]) => place === 'active' || place === 'taken')
      .map(([key]) => key)
  }

  /** True if events matter: there are unschedulable pods or pods being scheduled. */
  get cares(): boolean {
    return this.#waiting.size > 0 || this.#takenCount > 0
  }

  /** Adds or updates a pending pod. */
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

  /** Removes a pod that has been scheduled or deleted. */
  delete(key: string): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined) return
    if (waiter.place === 'taken') this.#release()
    this.#leave(waiter)
    this.#waiters.delete(key)
  }

  /** The next active pod; undefined when the queue is closed. */
  take(): Promise<QueuedPod | undefined> {
    const waiter = this.#active.pop()
    if (waiter !== undefined) return Promise.resolve(this.#taken(waiter))
    if (this.#isClosed) return Promise.resolve(undefined)
    return new Promise(resolve => this.#takers.push(resolve))
  }

  /**
   * addUnschedulable: requeues a pod that these plugins refused; none after an error, which is retried after
   * the backoff.
   */
  refused(key: string, plugins: ReadonlySet<string>): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined || waiter.place !== 'taken') return
    waiter.plugins = plugins
    waiter.failures++
    waiter.failedMs = this.#clock.monotonicMs()
    // A failed pod goes behind pods added meanwhile; otherwise the same few pods would be retried repeatedly.
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

  /** Moves the unschedulable pods that the event may help to activeQ or backoffQ. */
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

  /** Moves a pod to activeQ without backoff, unless it is gated: no event would do so. */
  activate(key: string): void {
    const waiter = this.#waiters.get(key)
    if (waiter === undefined || waiter.place === 'taken' || waiter.place === 'active') return
    this.#leave(waiter)
    if (this.#options.preEnqueue(waiter.queued.pod) === undefined) this.#activate(waiter)
    else waiter.place = 'gated'
  }

  /** Runs preEnqueue again for a gated pod. */
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

  /** Events are discarded when no pod is being scheduled. */
  #release(): void {
    this.#takenCount--
    if (this.#takenCount === 0) this.#recent.length = 0
  }

  /** Puts a pod into activeQ, or into backoffQ while its backoff lasts, or keeps it gated. */
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

  /** One timer for the earliest deadline. */
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
