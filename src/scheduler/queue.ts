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
import type { QueueName, SchedulerMetrics } from './metrics.ts'

export interface SchedulingQueueOptions {
  readonly clock: Clock
  readonly queueSort: (left: QueuedPodInfo, right: QueuedPodInfo) => number
  /** Returns a status to keep the pod gated. */
  readonly preEnqueue: (pod: Stored<Pod>) => Unschedulable | undefined
  /** Initial and maximum backoff after failures. */
  readonly backoffMs?: { readonly first: number; readonly max: number }
  readonly metrics?: SchedulerMetrics | undefined
}

/** A cluster event, as seen by unschedulable pods. */
export interface ClusterEvent {
  /** For metrics: `NodeAdd`. */
  readonly label: string
  /** Of the change, if it is known. */
  readonly revision?: number | undefined
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
  /** The plugin that keeps it out of the queue while it is gated. */
  gate: string | undefined
  failures: number
  failedMs: number
  /** Monotonic time when it was added to activeQ or backoffQ. */
  queuedMs: number
  /** Revision of the event that moved it there. */
  movedBy: number | undefined
  /** Value of the event counter when it was popped. */
  poppedAtEvent: number
  /** True if the pod was updated while it was being scheduled. */
  isChanged: boolean
}

export class SchedulingQueue {
  readonly #clock: Clock
  readonly #options: SchedulingQueueOptions
  /** Initial and maximum backoff. */
  readonly backoffMs: { readonly first: number; readonly max: number }
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
    this.backoffMs = options.backoffMs ?? defaultBackoffMs
    this.#active = new Heap((left, right) => options.queueSort(left.queued, right.queued))
    this.#backoff = new Heap((left, right) => this.#backoffEndMs(left) - this.#backoffEndMs(right))
  }

  /** Number of pods in each queue. */
  get sizes(): Readonly<Record<Place, number>> {
    const sizes = { active: 0, backoff: 0, unschedulable: 0, gated: 0, inFlight: 0 }
    for (const { place } of this.#entries.values()) sizes[place]++
    return sizes
  }

  /** Number of rejected pods by plugin and scheduler name. */
  unschedulablePods(): readonly (readonly [labels: readonly [string, string], pods: number])[] {
    const counts = new Map<string, number>()
    for (const { queued, place, plugins, gate } of this.#entries.values()) {
      if (place === 'inFlight') continue
      const { schedulerName = 'default-scheduler' } = queued.pod.spec ?? {}
      const names = place === 'gated' && gate !== undefined ? [gate] : plugins
      for (const plugin of names) {
        const key = `${plugin}\0${schedulerName}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
    }
    return Array.from(counts, ([key, pods]) => {
      const [plugin = '', profile = ''] = key.split('\0')
      return [[plugin, profile], pods]
    })
  }

  /** Number of pods being scheduled, and of the events kept for them, by label. */
  inFlightEvents(): readonly (readonly [labels: readonly [event: string], count: number])[] {
    const counts = new Map([['PodPopped', this.#inFlightCount]])
    for (const { label } of this.#recent) counts.set(label, (counts.get(label) ?? 0) + 1)
    return Array.from(counts, ([label, count]) => [[label], count])
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
        gate: undefined,
        failures: 0,
        failedMs: -Infinity,
        queuedMs: addedMs,
        movedBy: undefined,
        poppedAtEvent: 0,
        isChanged: false,
      }
      this.#entries.set(key, made)
      return this.#enqueue(made, 'UnschedulablePodAdd')
    }
    entry.queued = { ...entry.queued, pod }
    const event = 'UnschedulablePodUpdate'
    if (entry.place === 'gated') this.#enqueue(entry, event)
    else if (entry.place === 'active') this.#requeue(this.#remove(entry), undefined)
    else if (entry.place === 'unschedulable' && mayBecomeSchedulable)
      this.#enqueue(this.#remove(entry), event)
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
    entry.queued = { ...entry.queued, addedMs: entry.failedMs, isFlushed: false }
    const missed = this.#recent.slice(
      Math.max(0, this.#recent.length - (this.#eventCount - entry.poppedAtEvent)),
    )
    const isForgotten = this.#eventCount - entry.poppedAtEvent > this.#recent.length
    const isRetried = plugins.size === 0 || isForgotten || entry.isChanged
    const helpful = isRetried
      ? undefined
      : missed.find(event => event.queueingHint(entry.queued.pod, plugins))
    this.#done()
    if (isRetried || helpful) this.#enqueue(entry, 'ScheduleAttemptFailure', helpful?.revision)
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
      if (event.queueingHint(entry.queued.pod, entry.plugins))
        this.#enqueue(this.#remove(entry), event.label, event.revision)
    }
  }

  /** Moves a pod to activeQ without backoff, unless it is gated: no event would do so. */
  activate(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.place === 'inFlight' || entry.place === 'active') return
    this.#remove(entry)
    const gate = this.#options.preEnqueue(entry.queued.pod)
    if (gate === undefined) {
      this.#startAttempt(entry, undefined)
      this.#activate(entry, 'ForceActivate')
    } else this.#putGated(entry, gate, 'ForceActivate')
  }

  /** Runs preEnqueue again for a gated pod. */
  recheckPreEnqueue(key: string): void {
    const entry = this.#entries.get(key)
    if (entry?.place === 'gated') this.#enqueue(entry, 'ForceActivate')
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
    const { attempts, initialAttemptMs = this.#clock.monotonicMs() } = entry.queued
    const { queuedMs, movedBy } = entry
    entry.queued = { ...entry.queued, attempts: attempts + 1, initialAttemptMs, queuedMs, movedBy }
    this.#inFlightCount++
    return entry.queued
  }

  /** Events are discarded when no pod is being scheduled. */
  #done(): void {
    this.#inFlightCount--
    if (this.#inFlightCount === 0) this.#recent.length = 0
  }

  /** Puts a pod into activeQ or backoffQ for its next attempt, or keeps it gated. */
  #enqueue(entry: PodEntry, event: string, movedBy?: number): void {
    this.#startAttempt(entry, movedBy)
    this.#requeue(entry, event)
  }

  #startAttempt(entry: PodEntry, movedBy: number | undefined): void {
    entry.queuedMs = this.#clock.monotonicMs()
    entry.movedBy = movedBy
  }

  /** Puts a pod into activeQ, or into backoffQ while its backoff lasts, or keeps it gated. */
  #requeue(entry: PodEntry, event: string | undefined): void {
    const gate = this.#options.preEnqueue(entry.queued.pod)
    if (gate !== undefined) {
      this.#putGated(entry, gate, event)
    } else if (this.#backoffEndMs(entry) > this.#clock.monotonicMs()) {
      entry.place = 'backoff'
      entry.heapEntry = this.#backoff.push(entry)
      this.#count('backoff', event)
      this.#arm()
    } else {
      this.#activate(entry, event)
    }
  }

  #putGated(entry: PodEntry, { plugin }: Unschedulable, event: string | undefined): void {
    // A new entry has this place already.
    if (entry.place !== 'gated' || event === 'UnschedulablePodAdd') this.#count('unschedulable', event)
    entry.place = 'gated'
    entry.gate = plugin
  }

  #count(queue: QueueName, event: string | undefined): void {
    if (event !== undefined) this.#options.metrics?.incoming(queue, event)
  }

  #activate(entry: PodEntry, event: string | undefined): void {
    this.#count('active', event)
    const resolve = this.#pendingPops.shift()
    if (resolve !== undefined) return resolve(this.#markInFlight(entry))
    entry.place = 'active'
    entry.heapEntry = this.#active.push(entry)
  }

  #putUnschedulable(entry: PodEntry): void {
    entry.place = 'unschedulable'
    this.#unschedulable.add(entry)
    this.#count('unschedulable', 'ScheduleAttemptFailure')
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
    const { first, max } = this.backoffMs
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
      this.#activate(this.#remove(next), 'BackoffComplete')
    }
    for (const entry of this.#unschedulable) {
      if (entry.failedMs + unschedulableMsMax > nowMs) break
      entry.queued = { ...entry.queued, isFlushed: true }
      this.#enqueue(this.#remove(entry), 'UnschedulableTimeout')
    }
    this.#arm()
  }
}
