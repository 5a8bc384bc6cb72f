/**
 * Watches. A client gets the initial events it requested, then every matching event once and in order, until
 * it disconnects, the timeout expires, or it falls behind and must relist.
 */
import { expired, notAcceptable, type ApiError } from '#/api/errors.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { StoreError } from '#/store/store.ts'
import { streamMediaTypes } from '../negotiation.ts'
import { isConvertedOnRead, readEvents, readObjects } from '../registry/convert-objects.ts'
import type { ActiveWatch } from '../registry/active-watch.ts'
import { CacheEvent } from '../registry/cache-event.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { apiErrorOf } from '../registry/store-errors.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { Subscriber } from '../registry/subscribers.ts'
import type { ApiResponse, StreamChunk } from '../request.ts'
import { WatchEncoder } from '../watch-encoder.ts'
import type { RequestScope } from './request-scope.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'
import { readListOptions, type ListOptions } from './list-options.ts'

export async function watch(scope: RequestScope): Promise<ApiResponse> {
  if (scope.view.negotiated.format === 'yaml') throw notAcceptable(streamMediaTypes)
  const options = readListOptions(scope)
  const encoder = new WatchEncoder(scope.view, scope)
  await waitUntilFresh(scope, startingVersion(options))
  const session = new WatchSession(scope, options, encoder)
  return { status: 200, body: { type: 'stream', mediaType: encoder.mediaType, chunks: session } }
}

/** The minimum revision for the start; undefined for the most recent state. */
function startingVersion({ resourceVersion, sendInitialEvents }: ListOptions): number | undefined {
  return resourceVersion === undefined && !sendInitialEvents ? 0 : resourceVersion
}

class WatchSession implements AsyncIterable<readonly StreamChunk[]>, Subscriber, ActiveWatch {
  readonly #scope: RequestScope
  readonly #options: ListOptions
  readonly #encoder: WatchEncoder
  readonly #prefix: string
  readonly #resourcePrefix: string
  /** Unsent events and bookmarks, in order. */
  #backlog: (CacheEvent | Bookmark)[] = []
  #end: 'time' | ApiError | undefined
  #wake: (() => void) | undefined
  #sent = 0

  constructor(scope: RequestScope, options: ListOptions, encoder: WatchEncoder) {
    this.#scope = scope
    this.#options = options
    this.#encoder = encoder
    this.#prefix = watchedPrefix(scope, options)
    this.#resourcePrefix = prefixOf(scope.resource, '')
  }

  get user(): string {
    return this.#scope.context.user.username
  }

  get userAgent(): string {
    return this.#scope.context.request.headers['user-agent'] ?? ''
  }

  get apiVersion(): string {
    return apiVersionOf(this.#scope.resource)
  }

  get resource(): string {
    return this.#scope.resource.plural
  }

  get namespace(): string {
    return this.#scope.info.namespace
  }

  get labelSelector(): string {
    return this.#scope.context.request.query.get('labelSelector') ?? ''
  }

  get fieldSelector(): string {
    return this.#scope.context.request.query.get('fieldSelector') ?? ''
  }

  get sinceMs(): number {
    return this.#scope.context.receivedMs
  }

  get backlog(): number {
    return this.#backlog.length
  }

  get sent(): number {
    return this.#sent
  }

  onEvents(events: readonly CacheEvent[]): void {
    if (this.#backlog.length + events.length > backlogMax) {
      const { registry, resource } = this.#scope
      registry.metrics?.watchCache.recordTerminated(resource.group, resource.plural)
      this.#finish(expired('watch closed: client too slow, relist'))
      return
    }
    this.#backlog.push(...events)
    this.#wake?.()
  }

  onReset(): void {
    this.#finish(expired('watch closed: watch cache was relisted'))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const {
      registry: { cache, watches },
      context: { request },
    } = this.#scope
    const { indexedField, conditions } = this.#options.selection
    if (this.#beginsWithState && conditions.length > 0) {
      await cache.prepareIndexes(this.#resourcePrefix, conditions)
    }
    const timers = this.#startTimers()
    const wake = (): void => this.#wake?.()
    request.signal.addEventListener('abort', wake)
    // Subscribing and reading the state happen synchronously, so no event is missed or duplicated.
    cache.subscribe(this.#prefix, this, indexedField)
    watches.add(this)
    const begin = this.#begin()
    try {
      yield* begin
      while (!request.signal.aborted) {
        const chunks = await this.#take()
        if (chunks.length > 0) yield chunks
        else if (this.#end !== undefined) return
        else await this.#wait()
      }
    } catch (thrown) {
      const error = apiErrorOf(thrown)
      if (error === undefined) throw thrown
      yield [this.#encoder.error(error)]
    } finally {
      cache.unsubscribe(this.#prefix, this, indexedField)
      watches.delete(this)
      request.signal.removeEventListener('abort', wake)
      for (const timer of timers) timer.cancel()
    }
  }

  /** The initial events. The state is captured when this is called, not when it is iterated. */
  #begin(): AsyncIterable<readonly StreamChunk[]> {
    const { cache } = this.#scope.registry
    const { resourceVersion } = this.#options
    if (this.#beginsWithState) {
      const one = this.#prefix.endsWith('/')
        ? undefined
        : [cache.get(this.#prefix)].filter(stored => stored !== undefined)
      return this.#initial(one ?? this.#candidates(), cache.revision)
    }
    const after = resourceVersion || cache.revision
    const events = cache.eventsAfter(this.#prefix, after)
    if (events === undefined) return this.#replay(after, cache.revision)
    this.#backlog.unshift(...events)
    return nothing()
  }

  get #beginsWithState(): boolean {
    const { resourceVersion, sendInitialEvents } = this.#options
    return sendInitialEvents ?? !resourceVersion
  }

  #candidates(): readonly StoredObject[] {
    const { cache } = this.#scope.registry
    const { conditions } = this.#options.selection
    const range = { prefix: this.#prefix }
    return cache.select(this.#resourcePrefix, conditions, range) ?? [...cache.list(this.#prefix)]
  }

  async *#initial(
    objects: readonly StoredObject[],
    revision: number,
  ): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const { selection, sendInitialEvents, allowWatchBookmarks } = this.#options
    const { registry, resource, info } = this.#scope
    const { clock } = registry.platform
    const { watchCache } = registry.metrics ?? {}
    const { group, version, plural } = resource
    const startedMs = clock.monotonicMs()
    watchCache?.recordInitEvents(group, plural, objects.length)
    for (let start = 0; start < objects.length; start += initialAtOnce) {
      const found = await readObjects(this.#scope.resource, objects.slice(start, start + initialAtOnce))
      const page = found.filter(stored => selection.isAll || selection.matches(stored))
      if (page.length > 0) yield page.map(stored => this.#encoder.initial(stored))
    }
    // Without resourceVersion, or with 0, clients have always got the initial events.
    if (!(sendInitialEvents ?? this.#beginsWithState)) return
    const scope = info.name !== '' ? 'resource' : info.namespace !== '' ? 'namespace' : 'cluster'
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    watchCache?.recordWatchList({ group, version, resource: plural, scope }, seconds)
    if (allowWatchBookmarks) {
      yield [this.#encoder.bookmark(revision, { 'k8s.io/initial-events-end': 'true' })]
    }
  }

  /** Replays events from the store if they are older than the cache's event window. */
  async *#replay(after: number, until: number): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const {
      registry: { cache, store },
      context: { request },
    } = this.#scope
    const replayed = cache.replay({
      prefix: this.#prefix,
      afterRevision: after,
      untilRevision: until,
      signal: request.signal,
    })
    try {
      for await (const events of replayed) {
        const read = await readEvents(this.#scope.resource, events)
        const chunks = read.flatMap(event => this.#encode(event))
        if (chunks.length > 0) yield chunks
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
      throw expired(`too old resource version: ${after} (${await store.compactedRevision()})`)
    }
  }

  async #take(): Promise<readonly StreamChunk[]> {
    const backlog = this.#backlog
    this.#backlog = []
    this.#sent += backlog.length
    const { resource } = this.#scope
    const read = isConvertedOnRead(resource) ? await readBacklog(resource, backlog) : backlog
    const chunks = read.flatMap(item =>
      item instanceof CacheEvent ? this.#encode(item) : [this.#encoder.bookmark(item.revision)],
    )
    if (this.#end !== undefined && this.#end !== 'time') {
      const end = this.#end
      this.#end = 'time'
      return [this.#encoder.error(end)]
    }
    return chunks
  }

  /** The event as this watcher sees it: an object that starts or stops matching is ADDED or DELETED. */
  #encode(event: CacheEvent): readonly StreamChunk[] {
    const { selection } = this.#options
    const { current, previous } = event
    const isSeen = current !== undefined && (selection.isAll || selection.matches(current))
    const wasSeen = previous !== undefined && (selection.isAll || selection.matches(previous))
    if (isSeen) return [this.#encoder.event(wasSeen ? 'MODIFIED' : 'ADDED', event, current)]
    return wasSeen ? [this.#encoder.event('DELETED', event, event.deleted!)] : []
  }

  #startTimers(): readonly { cancel(): void }[] {
    const {
      registry: {
        platform: { clock, random },
      },
    } = this.#scope
    const { timeoutSeconds, allowWatchBookmarks } = this.#options
    const wantedMs =
      timeoutSeconds !== undefined && timeoutSeconds > 0
        ? timeoutSeconds * 1_000
        : timeoutMsMin * (1 + random.fraction('watch timeout'))
    const timeoutMs = Math.min(wantedMs, timeoutMsMax)
    const timeout = clock.setTimer(timeoutMs, () => {
      // The client resumes from here, without a replay of what happened to other objects since the last bookmark.
      if (allowWatchBookmarks) this.#bookmark()
      this.#finish('time')
    })
    if (!allowWatchBookmarks) return [timeout]
    const again = (): void => {
      this.#bookmark()
      next = clock.setTimer(bookmarkMs, again)
    }
    let next = clock.setTimer(bookmarkMs, again)
    const last = clock.setTimer(Math.max(0, timeoutMs - lastBookmarkMs), () => this.#bookmark())
    return [timeout, last, { cancel: () => next.cancel() }]
  }

  #bookmark(): void {
    if (this.#backlog.length > 0 || this.#end !== undefined) return
    this.#backlog.push({ revision: this.#scope.registry.cache.revision })
    this.#wake?.()
  }

  #finish(end: 'time' | ApiError): void {
    this.#end ??= end
    this.#wake?.()
  }

  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}

interface Bookmark {
  readonly revision: number
}

async function readBacklog(
  resource: Resource,
  backlog: readonly (CacheEvent | Bookmark)[],
): Promise<readonly (CacheEvent | Bookmark)[]> {
  const events = await readEvents(
    resource,
    backlog.filter(item => item instanceof CacheEvent),
  )
  const read = events.values()
  return backlog.map(item => (item instanceof CacheEvent ? read.next().value! : item))
}

/**
 * Maximum number of unsent events; past it the watch ends with 410, because a gap would break the watch
 * contract.
 */
const backlogMax = 10_000

/** Initial objects encoded per chunk. */
const initialAtOnce = 500

const bookmarkMs = 60_000

/** The time before the timeout at which the last bookmark is sent, from which the client resumes. */
const lastBookmarkMs = 2_000

/** A watch without timeoutSeconds ends after 30 to 60 minutes, so that clients rebalance across servers. */
const timeoutMsMin = 1_800_000
const timeoutMsMax = 2 ** 31 - 1

/** A watch of a single object subscribes to its key only. */
function watchedPrefix({ resource, info }: RequestScope, { selection }: ListOptions): string {
  const namespace = info.namespace || selection.namespace || ''
  const isOne = selection.name !== undefined && (resource.scope === 'Cluster' || namespace !== '')
  return isOne ? keyOf(resource, namespace, selection.name) : prefixOf(resource, namespace)
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
