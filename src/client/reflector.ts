/**
 * Lists and watches a resource, and recovers from all failures of the watch. The sink sees one uninterrupted
 * stream: the complete state, then each change once and in order. A watch that ends, stalls or delivers
 * invalid data is resumed from the last resourceVersion; when the server has compacted that version, the
 * reflector relists and the sink computes the difference.
 */
import { backoffMs } from '#/base/backoff.ts'
import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Client, ObjectEvent, SelectOptions, WatchEvent, WatchOptions } from './client.ts'
import { planRecovery, type Attempt } from './reflector/recovery.ts'
import { isNewerResourceVersion } from './reflector/resource-version.ts'
import { TransportError } from './transport.ts'

/** The objects of a resource to follow: all by default. */
export type Selection = Pick<
  SelectOptions,
  'namespace' | 'labelSelector' | 'fieldSelector' | 'includeUninitialized' | 'metadataOnly'
>

export interface ReflectorSink<T extends KubernetesObject> {
  /** The complete state at a resourceVersion. Objects not in it have been deleted. */
  replace(objects: ReadonlyMap<string, Stored<T>>, version: string): void
  /** One change after the state of `replace`. */
  onEvent(event: ObjectEvent<T>): void
  /** A bookmark: no other changes up to this resourceVersion. */
  onBookmark(version: string): void
}

export interface ReflectorOptions<T extends KubernetesObject> {
  readonly client: Client
  readonly platform: Platform
  readonly resource: Resource<T>
  readonly selection?: Selection
  readonly sink: ReflectorSink<T>
}

const backoff = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 1 }

/**
 * The timeout of a watch is a random value between this and twice this, so that watches do not all end at
 * once.
 */
const watchSecondsMin = 300

/** Bookmarks arrive about once a minute. A watch without data for this long may be dead and is restarted. */
const watchIdleTimeoutMs = 150_000

/** A watch that ends this soon without an event counts as a failure and is restarted with backoff. */
const shortWatchMs = 1_000

const initialEventsEnd = 'k8s.io/initial-events-end'

export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>
  /** The resourceVersion of the last change passed to the sink; undefined when a list is needed. */
  #position: string | undefined
  /** True while the server is assumed to support watch-list (`sendInitialEvents`). */
  #usesWatchList = true
  #failures = 0
  /** True if the current attempt has delivered anything. */
  #progress = false

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
  }

  /** Runs until aborted; errors of the server are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    while (!signal.aborted) {
      const attempt = this.#nextAttempt()
      const startedMs = clock.monotonicMs()
      this.#progress = false
      let waitMs = 0
      try {
        await this.#perform(attempt, signal)
        if (!this.#progress && clock.monotonicMs() - startedMs < shortWatchMs) waitMs = this.#failed()
        else this.#failures = 0
      } catch (error) {
        if (signal.aborted) return
        waitMs = this.#recover(attempt, error)
      }
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  #nextAttempt(): Attempt {
    if (this.#position !== undefined) return 'watch'
    return this.#usesWatchList ? 'watch-list' : 'list'
  }

  async #perform(attempt: Attempt, signal: AbortSignal): Promise<void> {
    switch (attempt) {
      case 'list':
        return this.#list(signal)
      case 'watch':
        return this.#watch({ resourceVersion: this.#position }, signal)
      case 'watch-list':
        return this.#watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, signal)
    }
  }

  /** Without a resourceVersion the server returns the most recent state. */
  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options
    const { items, metadata } = await client.listAll(resource, { ...selection, signal })
    const { resourceVersion } = metadata
    if (!resourceVersion)
      throw new TransportError('invalid-response', `list of ${resource.plural} has no resourceVersion`)
    this.#replace(new Map(items.map(object => [keyOf(object), object])), resourceVersion)
  }

  async #watch(options: WatchOptions, signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options
    let initial = options.sendInitialEvents ? new Map<string, Stored<T>>() : undefined
    const batches = client.watchBatches(resource, {
      ...selection,
      ...options,
      signal,
      idleTimeoutMs: watchIdleTimeoutMs,
      allowWatchBookmarks: true,
      timeoutSeconds: this.#watchSeconds(),
    })
    for await (const batch of batches) {
      for (const event of batch) {
        if (initial === undefined) this.#take(event)
        else if (this.#collect(initial, event)) initial = undefined
      }
    }
    if (initial) {
      throw new TransportError('interrupted', 'watch-list ended before the initial-events-end bookmark')
    }
  }

  #watchSeconds(): number {
    return Math.floor(watchSecondsMin * (1 + this.#options.platform.random.fraction('length of a watch')))
  }

  /** Collects the initial events; returns true after the last one. */
  #collect(initial: Map<string, Stored<T>>, event: WatchEvent<T>): boolean {
    if (event.type === 'BOOKMARK') {
      const { annotations, resourceVersion } = event.object.metadata
      if (annotations?.[initialEventsEnd] !== 'true') return false
      this.#replace(initial, resourceVersion!)
      return true
    }
    if (event.type === 'DELETED') initial.delete(keyOf(event.object))
    else initial.set(keyOf(event.object), event.object)
    return false
  }

  #replace(objects: ReadonlyMap<string, Stored<T>>, resourceVersion: string): void {
    this.#progress = true
    this.#position = resourceVersion
    this.#options.sink.replace(objects, resourceVersion)
  }

  /** Ignores events that are not newer than the current position: a server or proxy may repeat them. */
  #take(event: WatchEvent<T>): void {
    const version = event.object.metadata.resourceVersion
    if (
      version === undefined ||
      this.#position === undefined ||
      !isNewerResourceVersion(version, this.#position)
    )
      return
    this.#progress = true
    this.#position = version
    if (event.type === 'BOOKMARK') this.#options.sink.onBookmark(version)
    else this.#options.sink.onEvent(event)
  }

  #recover(tried: Attempt, error: unknown): number {
    const {
      platform: { log },
      resource,
    } = this.#options
    // After all initial events have arrived, a watch-list is an ordinary watch.
    const attempt = this.#position === undefined ? tried : 'watch'
    const waitMs = this.#failed()
    const { begin, disableWatchList, waitMsMin } = planRecovery({ error, attempt, failures: this.#failures })
    if (begin === 'list') this.#position = undefined
    if (disableWatchList) this.#usesWatchList = false
    log.info(begin === 'list' ? 'Relisting' : 'Restarting watch', {
      resource: resource.plural,
      attempt,
      error,
    })
    return Math.max(waitMs, waitMsMin)
  }

  #failed(): number {
    this.#failures = this.#progress ? 1 : this.#failures + 1
    return backoffMs(this.#failures, backoff, this.#options.platform.random.fraction('wait of a reflector'))
  }
}
