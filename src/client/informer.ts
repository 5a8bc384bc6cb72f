/**
 * A local cache of a resource that follows the server, with indexes and event handlers. One informer is
 * shared by all its users in the process (`informers.ts`), and so are its objects, which must not be
 * modified. A handler should only add a key to a work queue; the worker reads the cache later.
 */
import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import { abortable } from '#/base/abort.ts'
import type { ObjectEvent } from './client.ts'
import { Indexer, type IndexFunc, type Index } from './indexer.ts'
import { isNewerResourceVersion } from './reflector/resource-version.ts'
import { Reflector, type ReflectorOptions, type Selection } from './reflector.ts'

/** Called once for each change, in order, after the cache was updated. Must not block. */
export type EventHandler<T extends KubernetesObject> = (key: string, change: Change<T>) => void

/** An object was added, updated or deleted. On a resync `oldObject` and `newObject` are the same object. */
export type Change<T extends KubernetesObject> =
  | { readonly oldObject: undefined; readonly newObject: Stored<T> }
  | { readonly oldObject: Stored<T>; readonly newObject: Stored<T> }
  | { readonly oldObject: Stored<T>; readonly newObject: undefined }

export interface HandlerOptions {
  /** Resync period: the handler is called for every object again, changed or not. */
  readonly resyncMs?: number
}

export interface InformerOptions<T extends KubernetesObject> extends Omit<ReflectorOptions<T>, 'sink'> {
  /** Shared by the informers of a process. */
  readonly handled?: HandledChange
}

/** The change whose event handlers are being called. */
export interface HandledChange {
  /** Undefined outside of handlers, on a resync, and if the revision is not known. */
  revision: number | undefined
}

/** Maximum fraction added to the resync period, so that handlers do not resync at the same time. */
const resyncJitter = 0.1

export class Informer<T extends KubernetesObject> {
  readonly resource: Resource<T>
  readonly selection: Selection
  readonly #platform: Platform
  readonly #reflector: Reflector<T>
  readonly #store = new Indexer<Stored<T>>()
  readonly #handlers = new Map<EventHandler<T>, HandlerOptions>()
  readonly #synced = Promise.withResolvers<void>()
  readonly #namespaces: Index<Stored<T>>
  /** Resolvers of pending `waitUntil` calls, woken after each change. */
  readonly #waiting = new Set<() => void>()
  readonly #handled: HandledChange
  /** The resourceVersion up to which the cache is current. */
  #version: string | undefined
  #hasSynced = false
  #running: AbortSignal | undefined

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource
    this.selection = options.selection ?? {}
    this.#platform = options.platform
    this.#handled = options.handled ?? { revision: undefined }
    this.#namespaces = this.#store.index('namespace', object => [object.metadata.namespace ?? ''])
    const sink = {
      replace: (objects: ReadonlyMap<string, Stored<T>>, version: string) => {
        this.#replace(objects)
        this.#advance(version)
      },
      onEvent: (event: ObjectEvent<T>) => {
        this.#apply(event)
        this.#advance(event.object.metadata.resourceVersion)
      },
      onBookmark: (version: string) => this.#advance(version),
    }
    this.#reflector = new Reflector({ ...options, sink })
  }

  /** True after the initial list is in the cache and all handlers have been called for it. */
  get hasSynced(): boolean {
    return this.#hasSynced
  }

  /** The resourceVersion up to which the cache is current; undefined before the initial list. */
  get resourceVersion(): string | undefined {
    return this.#version
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return abortable(this.#synced.promise, signal)
  }

  /** True if the cache is at least as new as this resourceVersion. */
  isCurrent(version: string): boolean {
    return this.#version !== undefined && !isNewerResourceVersion(version, this.#version)
  }

  /** Resolves when the condition on the cache holds; rejects when aborted first. */
  async waitUntil(condition: () => boolean, signal: AbortSignal): Promise<void> {
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

  get(key: string): Stored<T> | undefined {
    return this.#store.get(key)
  }

  list(): readonly Stored<T>[] {
    return this.#store.list()
  }

  inNamespace(namespace: string): readonly Stored<T>[] {
    return this.#namespaces.get(namespace)
  }

  /** Returns the existing index if one has this name. */
  index(name: string, indexFunc: IndexFunc<Stored<T>>): Index<Stored<T>> {
    return this.#store.index(name, indexFunc)
  }

  /**
   * Calls the handler at once for every object in the cache, then for each change. Returns a function that
   * removes the handler.
   */
  addEventHandler(handler: EventHandler<T>, options: HandlerOptions = {}): () => void {
    this.#handlers.set(handler, options)
    if (this.#running) this.#startResync(handler, options)
    for (const [key, newObject] of this.#store.entries()) {
      const change = { oldObject: undefined, newObject }
      this.#handling(newObject, () => this.#call(handler, key, change))
    }
    return () => void this.#handlers.delete(handler)
  }

  #advance(version: string | undefined): void {
    this.#version = version ?? this.#version
    for (const wake of this.#waiting) wake()
  }

  #apply({ type, object }: ObjectEvent<T>): void {
    const key = keyOf(object)
    const oldObject = this.#store.get(key)
    if (type === 'DELETED') {
      this.#store.delete(key)
      // The object has the revision of the deletion.
      if (oldObject !== undefined) this.#tell(key, { oldObject, newObject: undefined }, object)
    } else {
      this.#store.set(key, object)
      for (const change of changesBetween(oldObject, object)) this.#tell(key, change, object)
    }
  }

  /** The cache has the complete new state before the first handler is called. */
  #replace(objects: ReadonlyMap<string, Stored<T>>): void {
    const changes: [string, Change<T>][] = []
    for (const [key, oldObject] of this.#store.entries()) {
      if (!objects.has(key)) changes.push([key, { oldObject, newObject: undefined }])
    }
    for (const [key, object] of objects) {
      const before = this.#store.get(key)
      for (const change of changesBetween(before, object)) changes.push([key, change])
    }
    for (const [key, { newObject }] of changes) {
      if (newObject === undefined) this.#store.delete(key)
      else this.#store.set(key, newObject)
    }
    // The revision of a deletion that a list shows is not known.
    for (const [key, change] of changes) this.#tell(key, change, change.newObject)
    this.#hasSynced = true
    this.#synced.resolve()
  }

  #tell(key: string, change: Change<T>, version: Stored<T> | undefined): void {
    // A copy: a handler that is added during the loop has already been called for the current state.
    const handlers = [...this.#handlers.keys()]
    this.#handling(version, () => {
      for (const handler of handlers) this.#call(handler, key, change)
    })
  }

  /** Handlers may add handlers, which are called at once. */
  #handling(version: Stored<T> | undefined, call: () => void): void {
    const outer = this.#handled.revision
    this.#handled.revision = version && revisionOf(version)
    call()
    this.#handled.revision = outer
  }

  #call(handler: EventHandler<T>, key: string, change: Change<T>): void {
    try {
      handler(key, change)
    } catch (error) {
      // A failing handler affects neither the other handlers nor the cache.
      this.#platform.log.error('Event handler failed', { key, error })
    }
  }

  #startResync(handler: EventHandler<T>, options: HandlerOptions): void {
    const { resyncMs } = options
    const signal = this.#running
    if (resyncMs === undefined || signal === undefined || signal.aborted) return
    const delayMs = resyncMs * (1 + resyncJitter * this.#platform.random.fraction('resync'))
    const timer = this.#platform.clock.setTimer(delayMs, () => {
      signal.removeEventListener('abort', cancel)
      // The handler was removed, or removed and added again with its own resync timer.
      if (this.#handlers.get(handler) !== options) return
      for (const [key, object] of this.#store.entries()) {
        this.#call(handler, key, { oldObject: object, newObject: object })
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
function changesBetween<T extends KubernetesObject>(
  oldObject: Stored<T> | undefined,
  newObject: Stored<T>,
): readonly Change<T>[] {
  if (oldObject === undefined) return [{ oldObject, newObject }]
  if (oldObject.metadata.resourceVersion === newObject.metadata.resourceVersion) return []
  if (oldObject.metadata.uid === newObject.metadata.uid) return [{ oldObject, newObject }]
  return [
    { oldObject, newObject: undefined },
    { oldObject: undefined, newObject },
  ]
}

/** Undefined if the resourceVersion is not a number, which other API servers than k8ts may have. */
function revisionOf({ metadata }: Stored): number | undefined {
  const revision = Number(metadata.resourceVersion)
  return Number.isSafeInteger(revision) && revision > 0 ? revision : undefined
}
