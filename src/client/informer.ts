/**
 * A part of the API at hand: a copy that follows the server, indexes to find things in it, and word of every
 * change. One informer serves everybody in the process who is interested in the same thing (`informers.ts`);
 * all share its objects, which therefore nobody may change. Who is told of a change puts a key into a queue
 * and looks at the copy later.
 */
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Platform } from '#/platform/platform.ts'
import { abortable } from './abort.ts'
import type { ObjectEvent } from './client.ts'
import { ObjectStore, type IndexBy, type ObjectIndex } from './object-store.ts'
import { isNewer } from './reflector/resource-version.ts'
import { Reflector, type ReflectorOptions, type Selection } from './reflector.ts'

/** Told once for each change, in order, after the copy has it; nothing it does may wait. */
export type ChangeHandler<T> = (key: string, change: Change<T>) => void

/**
 * An object came, became another, or went. When nothing changed, and everybody looks again, both are the
 * same.
 */
export type Change<T> =
  | { readonly before: undefined; readonly after: T }
  | { readonly before: T; readonly after: T }
  | { readonly before: T; readonly after: undefined }

export interface HandlerOptions {
  /** After about so long the handler is told of every object again, changed or not. */
  readonly resyncMs?: number
}

export type InformerOptions<T extends KubernetesObject> = Omit<ReflectorOptions<T>, 'sink'>

/** Resyncs of handlers that began together drift apart by up to this part. */
const resyncJitter = 0.1

export class Informer<T extends KubernetesObject> {
  /** What the copy is of. */
  readonly resource: Resource<T>
  readonly selection: Selection
  readonly #platform: Platform
  readonly #reflector: Reflector<T>
  readonly #store = new ObjectStore<T>()
  readonly #handlers = new Map<ChangeHandler<T>, HandlerOptions>()
  readonly #synced = Promise.withResolvers<void>()
  readonly #namespaces: ObjectIndex<T>
  /** Those who wait for the copy to show something. */
  readonly #waiting = new Set<() => void>()
  /** The copy is as new as this version. */
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

  /** Whether everything that existed when the informer began is here, and all handlers know of it. */
  get hasSynced(): boolean {
    return this.#hasSynced
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return abortable(this.#synced.promise, signal)
  }

  /** Whether the copy is as new as this version of one of its objects. */
  hasSeen(version: string): boolean {
    return this.#version !== undefined && !isNewer(version, this.#version)
  }

  /** Resolves when the condition, which is about the copy, holds; rejects when aborted first. */
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

  /** Follows the server until aborted. The copy stays as it then is. */
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

  /** Asked for twice under one name, it is the same index. */
  index(name: string, indexBy: IndexBy<T>): ObjectIndex<T> {
    return this.#store.index(name, indexBy)
  }

  /**
   * The handler is told of every object that is here at once, then of each change. Returns how to stop that.
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

  /** The copy has all of the new state before anybody is told of a part of it. */
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
    // Who is added by one of them has been told already.
    const handlers = [...this.#handlers.keys()]
    for (const handler of handlers) this.#call(handler, key, change)
  }

  #call(handler: ChangeHandler<T>, key: string, change: Change<T>): void {
    try {
      handler(key, change)
    } catch (error) {
      // The others still want to know, and the copy goes on.
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
      // A handler that was removed, or removed and added anew, has no more part in this.
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
 * An object that was deleted and made again under its name, while nobody looked, is another: one goes and one
 * comes.
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
