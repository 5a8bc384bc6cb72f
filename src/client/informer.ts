/**
 * A local cache of a resource that follows the server, with indexes and change handlers. One informer is
 * shared by all its users in the process (`informers.ts`), and so are its objects, which must not be
 * modified. A handler should only add a key to a work queue; the worker reads the cache later.
 */
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import { abortable } from './abort.ts'
import type { ObjectEvent } from './client.ts'
import { ObjectStore, type IndexBy, type ObjectIndex } from './object-store.ts'
import { isNewer } from './reflector/resource-version.ts'
import { Reflector, type ReflectorOptions, type Selection } from './reflector.ts'

/** Called once for each change, in order, after the cache was updated. Must not block. */
export type ChangeHandler<T> = (key: string, change: Change<T>) => void

/** An object was added, updated or deleted. On a resync `before` and `after` are the same object. */
export type Change<T> =
  | { readonly before: undefined; readonly after: T }
  | { readonly before: T; readonly after: T }
  | { readonly before: T; readonly after: undefined }

export interface HandlerOptions {
  /** Resync period: the handler is called for every object again, changed or not. */
  readonly resyncMs?: number
}

export type InformerOptions<T extends KubernetesObject> = Omit<ReflectorOptions<T>, 'sink'>

/** Maximum fraction added to the resync period, so that handlers do not resync at the same time. */
const resyncJitter = 0.1

export class Informer<T extends KubernetesObject> {
  readonly resource: Resource<T>
  readonly selection: Selection
  readonly #platform: Platform
  readonly #reflector: Reflector<T>
  readonly #store = new ObjectStore<T>()
  readonly #handlers = new Map<ChangeHandler<T>, HandlerOptions>()
  readonly #synced = Promise.withResolvers<void>()
  readonly #namespaces: ObjectIndex<T>
  /** Resolvers of pending `until` calls, woken after each change. */
  readonly #waiting = new Set<() => void>()
  /** The resourceVersion up to which the cache is current. */
  #version: string | undefined
  #hasSynced = false
  #running: AbortSignal | undefined

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource
    this.selection = options.selection ?? {}
    this.#platform = options.platform
    this.#namespaces = this.#store.index('namespace', object => [object.metadata?.namespace ?? ''])
    const sink = {
      replace: (objects: ReadonlyMap<string, T>, version: string) => {
        this.#replace(objects)
        this.#advance(version)
      },
      apply: (event: ObjectEvent<T>) => {
        this.#apply(event)
        this.#advance(event.object.metadata?.resourceVersion)
      },
      advance: (version: string) => this.#advance(version),
    }
    this.#reflector = new Reflector({ ...options, sink })
  }

  /** True after the initial list is in the cache and all handlers have been called for it. */
  get hasSynced(): boolean {
    return this.#hasSynced
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return abortable(this.#synced.promise, signal)
  }

  /** True if the cache is at least as new as this resourceVersion. */
  hasSeen(version: string): boolean {
    return this.#version !== undefined && !isNewer(version, this.#version)
  }

  /** Resolves when the condition on the cache holds; rejects when aborted first. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.add(resolve)
      try {
        await abortable(promise, signal)
      } finally {
        this.#waiting.delete(resolve)
      }
    }
  }

  /** Follows the server until aborted. The cache keeps its last state. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal
    for (const [handler, options] of this.#handlers) this.#startResync(handler, options)
    await this.#reflector.run(signal)
  }

  get(key: string): T | undefined {
    return this.#store.get(key)
  }

  list(): readonly T[] {
    return this.#store.list()
  }

  inNamespace(namespace: string): readonly T[] {
    return this.#namespaces.get(namespace)
  }

  /** Returns the existing index if one has this name. */
  index(name: string, indexBy: IndexBy<T>): ObjectIndex<T> {
    return this.#store.index(name, indexBy)
  }

  /**
   * Calls the handler at once for every object in the cache, then for each change. Returns a function that
   * removes the handler.
   */
  onChange(handler: ChangeHandler<T>, options: HandlerOptions = {}): () => void {
    this.#handlers.set(handler, options)
    if (this.#running) this.#startResync(handler, options)
    for (const [key, after] of this.#store.entries()) this.#call(handler, key, { before: undefined, after })
    return () => void this.#handlers.delete(handler)
  }

  #advance(version: string | undefined): void {
    this.#version = version ?? this.#version
    for (const wake of this.#waiting) wake()
  }

  #apply({ type, object }: ObjectEvent<T>): void {
    const key = keyOf(object)
    const before = this.#store.get(key)
    if (type === 'DELETED') {
      this.#store.delete(key)
      if (before !== undefined) this.#tell(key, { before, after: undefined })
    } else {
      this.#store.set(key, object)
      for (const change of changesBetween(before, object)) this.#tell(key, change)
    }
  }

  /** The cache has the complete new state before the first handler is called. */
  #replace(objects: ReadonlyMap<string, T>): void {
    const changes: [string, Change<T>][] = []
    for (const [key, before] of this.#store.entries()) {
      if (!objects.has(key)) changes.push([key, { before, after: undefined }])
    }
    for (const [key, object] of objects) {
      const before = this.#store.get(key)
      for (const change of changesBetween(before, object)) changes.push([key, change])
    }
    for (const [key, { after }] of changes) {
      if (after === undefined) this.#store.delete(key)
      else this.#store.set(key, after)
    }
    for (const [key, change] of changes) this.#tell(key, change)
    this.#hasSynced = true
    this.#synced.resolve()
  }

  #tell(key: string, change: Change<T>): void {
    // A copy: a handler that is added during the loop has already been called for the current state.
    const handlers = [...this.#handlers.keys()]
    for (const handler of handlers) this.#call(handler, key, change)
  }

  #call(handler: ChangeHandler<T>, key: string, change: Change<T>): void {
    try {
      handler(key, change)
    } catch (error) {
      // A failing handler affects neither the other handlers nor the cache.
      this.#platform.log.error('a handler of changes failed', { key, error })
    }
  }

  #startResync(handler: ChangeHandler<T>, options: HandlerOptions): void {
    const { resyncMs } = options
    const signal = this.#running
    if (resyncMs === undefined || signal === undefined || signal.aborted) return
    const delayMs = resyncMs * (1 + resyncJitter * this.#platform.random.fraction('resync'))
    const timer = this.#platform.clock.setTimer(delayMs, () => {
      signal.removeEventListener('abort', cancel)
      // The handler was removed, or removed and added again with its own resync timer.
      if (this.#handlers.get(handler) !== options) return
      for (const [key, object] of this.#store.entries()) {
        this.#call(handler, key, { before: object, after: object })
      }
      this.#startResync(handler, options)
    })
    const cancel = (): void => timer.cancel()
    signal.addEventListener('abort', cancel, { once: true })
  }
}

/**
 * A different uid means that the object was deleted and recreated between two events: reported as a deletion
 * and an addition.
 */
function changesBetween<T extends KubernetesObject>(before: T | undefined, after: T): readonly Change<T>[] {
  if (before === undefined) return [{ before, after }]
  if (before.metadata?.resourceVersion === after.metadata?.resourceVersion) return []
  if (before.metadata?.uid === after.metadata?.uid) return [{ before, after }]
  return [
    { before, after: undefined },
    { before: undefined, after },
  ]
}
