/**
 * The scheduling queue. Active pods are popped in order (activeQ); an unschedulable pod waits for an event
 * that may help according to the queueing hints of its plugins, and then until its backoff is over
 * (backoffQ). No pod is lost: after a maximum time it is retried without any event, and events that occur
 * during its scheduling cycle are considered too.
 */
import { Heap, type HeapEntry } from '#/base/heap.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import type { QueuedPodInfo, Unschedulable } from './framework.ts'

export interface SchedulingQueueOptions {
  readonly clock: Clock
  readonly queueSort: (left: QueuedPodInfo, right: QueuedPodInfo) => number
  /** Returns a status to keep the pod gated. */
  readonly preEnqueue: (pod: Stored<Pod>) => Unschedulable | undefined
  /** Initial and maximum backoff after failures. */
  readonly backoffMs?: { readonly first: number; readonly max: number }
}

/** A cluster event, as seen by unschedulable pods. */
export interface ClusterEvent {
  /** Queueing hint: true if it may make a pod schedulable that these plugins rejected. */
  readonly queueingHint: (pod: Stored<Pod>, plugins: ReadonlySet<string>) => boolean
}

/** Maximum time that a pod stays unschedulable before it is retried without an event. */
const unschedulableMsMax = 300_000

/**
 * Maximum events kept while pods are being scheduled; if exceeded, the pods are requeued as if one had
 * helped.
 */
const recentEventsMax = 1_000

const defaultBackoffMs = { first: 1_000, max: 10_000 }

type Place = 'active' | 'backoff' | 'unschedulable' | 'gated' | 'inFlight'

interface PodEntry {
  queued: QueuedPodInfo
  place: Place
  /** Heap entry while in activeQ or backoffQ. */
  heapEntry: HeapEntry<PodEntry> | undefined
  /** The plugins that rejected it in the last attempt. */
  plugins: ReadonlySet<string>
  failures: number
  failedMs: number
  /** Value of the event counter when it was popped. */
  poppedAtEvent: number
  /** True if the pod was updated while it was being scheduled. */
  isChanged: boolean
}

export class SchedulingQueue {
  readonly #clock: Clock
  readonly #options: SchedulingQueueOptions
  readonly #backoffMs: { readonly first: number; readonly max: number }
  readonly #entries = new Map<string, PodEntry>()
  readonly #active: Heap<PodEntry>
  readonly #backoff: Heap<PodEntry>
  /** Unschedulable pods, in the order in which they were added. */
  readonly #unschedulable = new Set<PodEntry>()
  readonly #pendingPops: ((queued: QueuedPodInfo | undefined) => void)[] = []
  /** Events since the earliest of the pods being scheduled was popped. */
  readonly #recent: ClusterEvent[] = []
  #eventCount = 0
  #inFlightCount = 0
  #sequence = 0
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined
  #isClosed = false

  constructor(options: SchedulingQueueOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#backoffMs = options.backoffMs ?? defaultBackoffMs
    this.#active = new Heap((left, right) => options.queueSort(left.queued, right.queued))
    this.#backoff = new Heap((left, right) => this.#backoffEndMs(left) - this.#backoffEndMs(right))
  }

  /** Number of pods in each queue. */
  get sizes(): Readonly<Record<Place, number>> {
    const sizes = { active: 0, backoff: 0, unschedulable: 0, gated: 0, inFlight: 0 }
    for (const { place } of this.#entries.values()) sizes[place]++
    return sizes
  }

  /** True if no pod is active or being scheduled. */
  get isIdle(): boolean {
    return this.#active.size === 0 && this.#inFlightCount === 0
  }

  /** Pods that are active or being scheduled. */
  get busyKeys(): readonly string[] {
    return [...this.#entries]
      .filter(([, { place }]) => place === 'active' || place === 'inFlight')
      .map(([key]) => key)
  }

  /** True if events matter: there are unschedulable pods or pods being scheduled. */
  get hasEventConsumers(): boolean {
    return this.#unschedulable.size > 0 || this.#inFlightCount > 0
  }

  /** Adds or updates a pending pod. */
  addOrUpdate(pod: Stored<Pod>, mayBecomeSchedulable = true): void {
    const key = keyOf(pod)
    const known = this.#entries.get(key)
    if (known !== undefined && known.queued.pod.metadata.uid !== pod.metadata.uid) this.delete(key)
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      const addedMs = this.#clock.monotonicMs()
      const queued = { pod, key, addedMs, sequence: this.#sequence++, attempts: 0 }
      const made: PodEntry = {
        queued,
        place: 'gated',
        heapEntry: undefined,
        plugins: new Set(),
        failures: 0,
        failedMs: -Infinity,
        poppedAtEvent: 0,
        isChanged: false,
      }
      this.#entries.set(key, made)
      return this.#enqueue(made)
    }
    entry.queued = { ...entry.queued, pod }
    if (entry.place === 'gated') this.#enqueue(entry)
    else if (entry.place === 'active') this.#enqueue(this.#remove(entry))
    else if (entry.place === 'unschedulable' && mayBecomeSchedulable) this.#enqueue(this.#remove(entry))
    else if (entry.place === 'inFlight' && mayBecomeSchedulable) entry.isChanged = true
  }

  /** Removes a pod that has been scheduled or deleted. */
  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    if (entry.place === 'inFlight') this.#done()
    this.#remove(entry)
    this.#entries.delete(key)
  }

  /** The next active pod; undefined when the queue is closed. */
  pop(): Promise<QueuedPodInfo | undefined> {
    const entry = this.#active.pop()
    if (entry !== undefined) return Promise.resolve(this.#markInFlight(entry))
    if (this.#isClosed) return Promise.resolve(undefined)
    return new Promise(resolve => this.#pendingPops.push(resolve))
  }

  /**
   * Requeues a pod that these plugins rejected; none after an error, which is retried after the backoff.
   */
  addUnschedulable(key: string, plugins: ReadonlySet<string>): void {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.place !== 'inFlight') return
    entry.plugins = plugins
    entry.failures++
    entry.failedMs = this.#clock.monotonicMs()
    // A failed pod goes behind pods added meanwhile; otherwise the same few pods would be retried repeatedly.
    entry.queued = { ...entry.queued, addedMs: entry.failedMs }
    const missed = this.#recent.slice(
      Math.max(0, this.#recent.length - (this.#eventCount - entry.poppedAtEvent)),
    )
    const isForgotten = this.#eventCount - entry.poppedAtEvent > this.#recent.length
    const isHelped =
      plugins.size === 0 ||
      isForgotten ||
      entry.isChanged ||
      missed.some(event => event.queueingHint(entry.queued.pod, plugins))
    this.#done()
    if (isHelped) this.#enqueue(entry)
    else this.#putUnschedulable(entry)
  }

  /** Moves the unschedulable pods that the event may help to activeQ or backoffQ. */
  moveAllToActiveOrBackoffQueue(event: ClusterEvent): void {
    if (this.#inFlightCount > 0) {
      this.#eventCount++
      this.#recent.push(event)
      if (this.#recent.length > recentEventsMax) this.#recent.shift()
    }
    for (const entry of this.#unschedulable) {
      if (event.queueingHint(entry.queued.pod, entry.plugins)) this.#enqueue(this.#remove(entry))
    }
  }

  /** Moves a pod to activeQ without backoff, unless it is gated: no event would do so. */
  activate(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.place === 'inFlight' || entry.place === 'active') return
    this.#remove(entry)
    if (this.#options.preEnqueue(entry.queued.pod) === undefined) this.#activate(entry)
    else entry.place = 'gated'
  }

  /** Runs preEnqueue again for a gated pod. */
  recheckPreEnqueue(key: string): void {
    const entry = this.#entries.get(key)
    if (entry?.place === 'gated') this.#enqueue(entry)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.timer.cancel()
    for (const resolve of this.#pendingPops.splice(0)) resolve(undefined)
  }

  #markInFlight(entry: PodEntry): QueuedPodInfo {
    entry.place = 'inFlight'
    entry.heapEntry = undefined
    entry.poppedAtEvent = this.#eventCount
    entry.isChanged = false
    entry.queued = { ...entry.queued, attempts: entry.queued.attempts + 1 }
    this.#inFlightCount++
    return entry.queued
  }

  /** Events are discarded when no pod is being scheduled. */
  #done(): void {
    this.#inFlightCount--
    if (this.#inFlightCount === 0) this.#recent.length = 0
  }

  /** Puts a pod into activeQ, or into backoffQ while its backoff lasts, or keeps it gated. */
  #enqueue(entry: PodEntry): void {
    if (this.#options.preEnqueue(entry.queued.pod) !== undefined) {
      entry.place = 'gated'
    } else if (this.#backoffEndMs(entry) > this.#clock.monotonicMs()) {
      entry.place = 'backoff'
      entry.heapEntry = this.#backoff.push(entry)
      this.#arm()
    } else {
      this.#activate(entry)
    }
  }

  #activate(entry: PodEntry): void {
    const resolve = this.#pendingPops.shift()
    if (resolve !== undefined) return resolve(this.#markInFlight(entry))
    entry.place = 'active'
    entry.heapEntry = this.#active.push(entry)
  }

  #putUnschedulable(entry: PodEntry): void {
    entry.place = 'unschedulable'
    this.#unschedulable.add(entry)
    this.#arm()
  }

  #remove(entry: PodEntry): PodEntry {
    if (entry.heapEntry !== undefined)
      (entry.place === 'backoff' ? this.#backoff : this.#active).remove(entry.heapEntry)
    entry.heapEntry = undefined
    this.#unschedulable.delete(entry)
    return entry
  }

  #backoffEndMs({ failures, failedMs }: PodEntry): number {
    const { first, max } = this.#backoffMs
    return failures === 0 ? -Infinity : failedMs + Math.min(max, first * 2 ** Math.min(failures - 1, 30))
  }

  /** One timer for the earliest deadline. */
  #arm(): void {
    const [oldest] = this.#unschedulable
    const backoff = this.#backoff.peek()
    const atMs = Math.min(
      backoff === undefined ? Infinity : this.#backoffEndMs(backoff),
      oldest === undefined ? Infinity : oldest.failedMs + unschedulableMsMax,
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
      this.#activate(this.#remove(next))
    }
    for (const entry of this.#unschedulable) {
      if (entry.failedMs + unschedulableMsMax > nowMs) break
      this.#enqueue(this.#remove(entry))
    }
    this.#arm()
  }
}
