import { Deque } from '#/base/deque.ts'
import type { StoreEvent, Watch, WatchOptions } from '../store.ts'
import type { EtcdClient } from './client.ts'
import { EtcdWatch } from './etcd-watch.ts'
import { emptyRevision, follow } from './follow.ts'
import type { KeySpace } from './keys.ts'
import type { Change } from './revision-assembler.ts'

export interface WatchHubOptions {
  readonly client: EtcdClient
  readonly keys: KeySpace
  /** The size of the recent changes that are kept in memory. */
  readonly recentBytesMax: number
}

/**
 * Follows etcd once for all watches of the store and keeps the recent past in memory. A watch is no more than
 * a place in it: a slow reader costs nothing, and one that is left behind follows etcd by itself until it has
 * caught up.
 */
export class WatchHub {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #recentBytesMax: number
  /** The changes after `#start`, one for each revision. */
  readonly #recent = new Deque<Change>()
  #recentBytes = 0
  /** Undefined until etcd has been heard of. */
  #start: number | undefined
  /** Watches that have nothing to read. */
  readonly #waiting = new Set<EtcdWatch>()
  #running: Promise<void> | undefined

  constructor(options: WatchHubOptions) {
    this.#client = options.client
    this.#keys = options.keys
    this.#recentBytesMax = options.recentBytesMax
  }

  watch(options: WatchOptions): Watch {
    this.#running ??= this.#run(options.afterRevision)
    return new EtcdWatch({ ...options, hub: this, client: this.#client, keys: this.#keys })
  }

  /** Settles once the client is closed. */
  async close(): Promise<void> {
    await this.#running
  }

  /**
   * Whether everything after a revision is at hand or still to come; undefined when that is not known yet.
   */
  holds(revision: number): boolean | undefined {
    return this.#start === undefined ? undefined : revision >= this.#start
  }

  /** Every change up to this revision has been heard of. */
  get head(): number {
    return (this.#start ?? 0) + this.#recent.length
  }

  /** The change of a revision that is not after the head, and after one that is held. */
  at(revision: number): Change {
    return this.#recent.at(revision - (this.#start ?? 0) - 1)!
  }

  /** The watch is told about what comes until it is removed. */
  add(watch: EtcdWatch): void {
    this.#waiting.add(watch)
  }

  remove(watch: EtcdWatch): void {
    this.#waiting.delete(watch)
  }

  async #run(afterRevision: number): Promise<void> {
    const { closing, log } = this.#client
    try {
      let position = Math.min(Math.max(afterRevision, emptyRevision), await this.#present())
      for (;;) {
        this.#begin(position)
        try {
          const changes = follow(this.#client, this.#keys, { afterRevision: position, signal: closing })
          for await (const some of changes) this.#append(some)
        } catch (error) {
          closing.throwIfAborted()
          // Watches that miss something now find out by themselves; the others have nothing to fear from it.
          log.warn('etcd is followed anew', { revision: this.head, cause: String(error) })
          position = await this.#present()
        }
      }
    } catch (error) {
      if (!closing.aborted) throw error
    }
  }

  async #present(): Promise<number> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#client.revision()
      } catch {
        await this.#client.pause(failures)
      }
    }
  }

  #begin(position: number): void {
    this.#recent.take(this.#recent.length)
    this.#recentBytes = 0
    this.#start = position
    for (const watch of this.#waiting) watch.look()
  }

  #append(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#recent.push(change)
      this.#recentBytes += sizeBytes(change)
    }
    for (const watch of this.#waiting) watch.look()
    while (this.#recentBytes > this.#recentBytesMax) {
      for (const oldest of this.#recent.take(1)) this.#recentBytes -= sizeBytes(oldest)
      this.#start!++
    }
  }
}

/** What a change takes in memory beside its keys and values, roughly. */
const overheadBytes = 200

function sizeBytes(change: Change): number {
  const valueBytes = (event: StoreEvent): number => (event.type === 'put' ? event.value.length : 0)
  let sum = overheadBytes
  for (const event of change.events) sum += overheadBytes + event.key.length + valueBytes(event)
  return sum
}
