/**
 * Delivers committed writes to watchers. Watchers are indexed by prefix, so the cost of a write does not
 * depend on watchers of other prefixes.
 */
import { forEachPrefix } from '#/base/key-path.ts'
import { StoreError, type StoreEvent, type Watch, type WatchBatch, type WatchOptions } from '../store.ts'
import type { History } from './history.ts'
import { toEvent, type ReadContent, type Version } from './version.ts'

export class WatchHub {
  readonly #history: History
  readonly #readContent: ReadContent
  readonly #watchers = new Map<string, Set<Watcher>>()
  #closed = false

  constructor(history: History, readContent: ReadContent) {
    this.#history = history
    this.#readContent = readContent
  }

  watch(options: WatchOptions): Watch {
    return new Watcher(this, options)
  }

  /** The versions must already be in the history. */
  publish(versions: readonly Version[]): void {
    const woken = new Set<Watcher>()
    for (const version of versions) {
      let event: StoreEvent | undefined
      const visit = (prefix: string): void => {
        const watchers = this.#watchers.get(prefix)
        if (watchers === undefined) return
        event ??= toEvent(version, this.#readContent)
        for (const watcher of watchers) {
          watcher.push(event)
          woken.add(watcher)
        }
      }
      forEachPrefix(version.key, visit)
      // For a key that ends with a slash, the last prefix is the key.
      if (!version.key.endsWith('/')) visit(version.key)
    }
    for (const watcher of woken) watcher.wake()
  }

  close(): void {
    this.#closed = true
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.wake()
  }

  get closed(): boolean {
    return this.#closed
  }

  get history(): History {
    return this.#history
  }

  event(version: Version): StoreEvent {
    return toEvent(version, this.#readContent)
  }

  add(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.prefix)
    if (watchers) watchers.add(watcher)
    else this.#watchers.set(watcher.prefix, new Set([watcher]))
  }

  remove(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.prefix)
    watchers?.delete(watcher)
    if (watchers?.size === 0) this.#watchers.delete(watcher.prefix)
  }
}

/**
 * Maximum number of undelivered events per watcher; beyond that they are dropped and reread from the history.
 */
const backlogMax = 1_000

class Watcher implements Watch {
  readonly prefix: string
  readonly #hub: WatchHub
  readonly #signal: AbortSignal | undefined
  /** All events up to this revision have been delivered. */
  #cursor: number
  /** Events published since `#cursor`, while `#behind` is false. */
  #backlog: StoreEvent[] = []
  /** True if the next events must be read from the history instead of the backlog. */
  #behind = true
  #progressRequested = false
  #wake: (() => void) | undefined

  constructor(hub: WatchHub, options: WatchOptions) {
    this.#hub = hub
    this.prefix = options.prefix
    this.#signal = options.signal
    this.#cursor = options.afterRevision
  }

  push(event: StoreEvent): void {
    if (this.#behind || event.revision <= this.#cursor) return
    if (this.#backlog.length < backlogMax) {
      this.#backlog.push(event)
      return
    }
    this.#cursor = Math.max(this.#cursor, this.#backlog[0]!.revision - 1)
    this.#backlog = []
    this.#behind = true
  }

  wake(): void {
    this.#wake?.()
  }

  requestProgress(): void {
    this.#progressRequested = true
    this.wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchBatch, void, undefined> {
    const wake = (): void => this.wake()
    this.#signal?.addEventListener('abort', wake)
    this.#hub.add(this)
    try {
      while (!this.#signal?.aborted) {
        if (this.#hub.closed) throw new StoreError('closed', 'the store was closed')
        const batch = this.#next()
        if (batch) yield batch
        else await this.#wait()
      }
    } finally {
      this.#hub.remove(this)
      this.#signal?.removeEventListener('abort', wake)
    }
  }

  #next(): WatchBatch | undefined {
    return this.#behind ? this.#nextFromHistory() : this.#nextFromBacklog()
  }

  #nextFromHistory(): WatchBatch | undefined {
    const { history } = this.#hub
    const matches = this.prefix.endsWith('/')
      ? (key: string): boolean => key.startsWith(this.prefix)
      : (key: string): boolean => key === this.prefix
    const { versions, reached } = history.eventsAfter(this.#cursor, matches, backlogMax)
    this.#cursor = reached
    this.#behind = reached < history.revision
    if (versions.length === 0) return this.#nextFromBacklog()
    return { revision: reached, events: versions.map(version => this.#hub.event(version)) }
  }

  #nextFromBacklog(): WatchBatch | undefined {
    if (this.#backlog.length === 0 && !this.#progressRequested) return undefined
    const events = this.#backlog
    this.#backlog = []
    this.#progressRequested = false
    this.#cursor = Math.max(this.#cursor, this.#hub.history.revision)
    return { revision: this.#cursor, events }
  }

  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}
