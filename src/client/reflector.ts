/**
 * Keeps a copy of a part of the API: lists it, watches it from there, and goes on after whatever happens to
 * the watch. To the sink it looks like one watch that never breaks: everything at once, then each change once
 * and in order. A watch that ends, stalls or brings garbage is resumed from the last version seen; when the
 * server has forgotten that version everything is listed again, and the sink finds out what changed.
 */
import { backoffMs } from '#/base/backoff.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Client, ObjectEvent, SelectOptions, WatchEvent, WatchOptions } from './client.ts'
import { planRecovery, type Attempt } from './reflector/recovery.ts'
import { isNewer } from './reflector/resource-version.ts'
import { TransportError } from './transport.ts'

/** Which objects of a resource: all when nothing is said. */
export type Selection = Pick<
  SelectOptions,
  'namespace' | 'labelSelector' | 'fieldSelector' | 'includeUninitialized'
>

export interface ReflectorSink<T> {
  /** All there is at one moment, which the version names. What is not in it is gone. */
  replace(objects: ReadonlyMap<string, T>, version: string): void
  /** One change after that moment. */
  apply(event: ObjectEvent<T>): void
  /** Nothing else has changed up to this version. */
  advance(version: string): void
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
 * The server ends a watch after a time between this and twice this, so that watches do not all end at once.
 */
const watchSecondsMin = 300

/**
 * Bookmarks come about once a minute. When nothing comes for so long the watch may be dead, and is made anew.
 */
const silenceMsMax = 150_000

/**
 * A watch that ends so soon, without anything in it, counts as a failure: it is not to be repeated at once.
 */
const shortWatchMs = 1_000

const initialEventsEnd = 'k8s.io/initial-events-end'

export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>
  /** The version of the last change that the sink knows of; undefined when everything must be listed. */
  #position: string | undefined
  /** The server can begin a watch with everything there is. */
  #streams = true
  #failures = 0
  /** Whether the present attempt has brought anything. */
  #progress = false

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
  }

  /** Works until aborted, whatever the server does. */
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
    return this.#streams ? 'streaming-list' : 'list'
  }

  async #perform(attempt: Attempt, signal: AbortSignal): Promise<void> {
    switch (attempt) {
      case 'list':
        return this.#list(signal)
      case 'watch':
        return this.#watch({ resourceVersion: this.#position }, signal)
      case 'streaming-list':
        return this.#watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, signal)
    }
  }

  /** Without a version the server answers with a state that is no older than the request. */
  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options
    const { items, metadata } = await client.listAll(resource, { ...selection, signal })
    const { resourceVersion } = metadata
    if (!resourceVersion) throw new TransportError('garbage', `a list of ${resource.plural} has no version`)
    this.#replace(new Map(items.map(object => [keyOf(object), object])), resourceVersion)
  }

  async #watch(options: WatchOptions, signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options
    let initial = options.sendInitialEvents ? new Map<string, T>() : undefined
    const batches = client.watchBatches(resource, {
      ...selection,
      ...options,
      signal,
      silenceMsMax,
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
      throw new TransportError('interrupted', 'the watch ended before everything that exists had come')
    }
  }

  #watchSeconds(): number {
    return Math.floor(watchSecondsMin * (1 + this.#options.platform.random.fraction('length of a watch')))
  }

  /** Puts what exists together; says whether that was all. */
  #collect(initial: Map<string, T>, event: WatchEvent<T>): boolean {
    if (event.type === 'BOOKMARK') {
      const { annotations, resourceVersion } = event.object.metadata ?? {}
      if (annotations?.[initialEventsEnd] !== 'true') return false
      this.#replace(initial, resourceVersion!)
      return true
    }
    if (event.type === 'DELETED') initial.delete(keyOf(event.object))
    else initial.set(keyOf(event.object), event.object)
    return false
  }

  #replace(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    this.#progress = true
    this.#position = resourceVersion
    this.#options.sink.replace(objects, resourceVersion)
  }

  /**
   * What is not newer than what the sink knows has been seen: a server, or a proxy before it, repeats itself.
   */
  #take(event: WatchEvent<T>): void {
    const version = event.object.metadata?.resourceVersion
    if (version === undefined || this.#position === undefined || !isNewer(version, this.#position)) return
    this.#progress = true
    this.#position = version
    if (event.type === 'BOOKMARK') this.#options.sink.advance(version)
    else this.#options.sink.apply(event)
  }

  #recover(tried: Attempt, error: unknown): number {
    const {
      platform: { log },
      resource,
    } = this.#options
    // Once everything that exists has come, a watch is a watch, however it began.
    const attempt = this.#position === undefined ? tried : 'watch'
    const waitMs = this.#failed()
    const { begin, giveUpStreaming, waitMsMin } = planRecovery({ error, attempt, failures: this.#failures })
    if (begin === 'list') this.#position = undefined
    if (giveUpStreaming) this.#streams = false
    log.info('a watch is made anew', { resource: resource.plural, attempt, begin, error })
    return Math.max(waitMs, waitMsMin)
  }

  #failed(): number {
    this.#failures = this.#progress ? 1 : this.#failures + 1
    return backoffMs(this.#failures, backoff, this.#options.platform.random.fraction('wait of a reflector'))
  }
}
