import { assert } from '#/base/assert.ts'
import { StoreError, type StoreEvent, type Watch, type WatchBatch, type WatchOptions } from '../store.ts'
import type { EtcdClient } from './client.ts'
import { emptyRevision, watchAll } from './watch-all.ts'
import type { KeySpace } from './keys.ts'
import type { Change } from './revision-assembler.ts'

/** The recent changes shared by all watches. */
export interface RecentChanges {
  readonly head: number
  holds(revision: number): boolean | undefined
  at(revision: number): Change
  add(watch: EtcdWatch): void
  remove(watch: EtcdWatch): void
}

interface EtcdWatchOptions extends WatchOptions {
  readonly hub: RecentChanges
  readonly client: EtcdClient
  readonly keys: KeySpace
}

export class EtcdWatch implements Watch {
  readonly #options: EtcdWatchOptions
  readonly #matches: (key: string) => boolean
  /** All events up to this revision have been delivered. */
  #position: number
  /** The revision to reach before the progress request is answered. */
  #progressDue: number | undefined
  /** Set while the watch waits for events. */
  #wake: ((batch: WatchBatch | undefined) => void) | undefined
  #isIterated = false

  constructor(options: EtcdWatchOptions) {
    const { prefix } = options
    this.#options = options
    this.#matches = prefix.endsWith('/') ? key => key.startsWith(prefix) : key => key === prefix
    this.#position = Math.max(options.afterRevision, emptyRevision)
  }

  /** Progress is reported once the watch has reached the newest revision that the client has seen. */
  requestProgress(): void {
    this.#progressDue = this.#options.client.knownRevision
    this.notify()
  }

  /** Called when there may be events to deliver. */
  notify(): void {
    if (this.#wake === undefined) return
    const isBehind = this.#options.hub.holds(this.#position) === false
    const batch = isBehind ? undefined : this.#next()
    if (batch || isBehind) this.#wake(batch)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchBatch, void, undefined> {
    const { client, hub, signal: aborting } = this.#options
    assert(!this.#isIterated, 'a watch is iterated once')
    this.#isIterated = true
    const signal = aborting ? AbortSignal.any([client.closing, aborting]) : client.closing
    if (this.#position < client.knownCompacted) throw compacted(this.#position)
    try {
      while (!signal.aborted) {
        if (hub.holds(this.#position) === false) yield* this.#catchUp(signal)
        const batch = this.#next() ?? (await this.#wait(signal))
        if (batch) yield batch
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
    if (!aborting?.aborted) client.closing.throwIfAborted()
  }

  #next(): WatchBatch | undefined {
    const { hub } = this.#options
    const events: StoreEvent[] = []
    if (!hub.holds(this.#position)) return undefined
    while (this.#position < hub.head && events.length < eventsMax) {
      this.#collect(hub.at(++this.#position), events)
    }
    const isProgress = this.#progressDue !== undefined && this.#position >= this.#progressDue
    if (isProgress) this.#progressDue = undefined
    return isProgress || events.length > 0 ? { revision: this.#position, events } : undefined
  }

  /** Resolves to the next batch; undefined when the watch has fallen behind or was aborted. */
  async #wait(signal: AbortSignal): Promise<WatchBatch | undefined> {
    const { hub } = this.#options
    const { promise, resolve } = Promise.withResolvers<WatchBatch | undefined>()
    const abort = (): void => resolve(undefined)
    this.#wake = batch => {
      this.#wake = undefined
      hub.remove(this)
      resolve(batch)
    }
    hub.add(this)
    signal.addEventListener('abort', abort)
    try {
      this.notify()
      return await promise
    } finally {
      this.#wake = undefined
      hub.remove(this)
      signal.removeEventListener('abort', abort)
    }
  }

  async *#catchUp(signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    const { client, keys, hub } = this.#options
    for await (const changes of watchAll(client, keys, { afterRevision: this.#position, signal })) {
      const events: StoreEvent[] = []
      for (const change of changes) this.#collect(change, events)
      this.#position = changes.at(-1)?.revision ?? this.#position
      if (events.length > 0) yield { revision: this.#position, events }
      if (hub.holds(this.#position)) return
    }
  }

  #collect(change: Change, events: StoreEvent[]): void {
    for (const event of change.events) if (this.#matches(event.key)) events.push(event)
  }
}

/** Maximum number of events in one batch of several revisions. */
const eventsMax = 1_000

function compacted(revision: number): StoreError {
  return new StoreError('compacted', `revision ${revision} has been compacted`)
}
