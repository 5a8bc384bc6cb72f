import { Queue } from '#/base/queue.ts'
import type { StoreEvent, Watch, WatchOptions } from '../store.ts'
import type { EtcdClient } from './client.ts'
import { EtcdWatch } from './etcd-watch.ts'
import { emptyRevision, watchAll } from './watch-all.ts'
import type { KeySpace } from './keys.ts'
import type { Change } from './revision-assembler.ts'

export interface WatchHubOptions {
  readonly client: EtcdClient
  readonly keys: KeySpace
  /** Maximum size of the recent changes kept in memory. */
  readonly recentBytesMax: number
}

/**
 * Runs one etcd watch for all watches of the store and keeps recent changes in memory. A watch is only a
 * position in them: slow readers cost nothing, and one that falls behind uses its own etcd watch until it has
 * caught up.
 */
export class WatchHub {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #recentBytesMax: number
  /** The changes after `#start`, one per revision. */
  readonly #recent = new Queue<Change>()
  #recentBytes = 0
  /** Undefined until the first response of etcd. */
  #start: number | undefined
  /** Watches that have read everything. */
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

  /** Settles after the client was closed. */
  async close(): Promise<void> {
    await this.#running
  }

  /**
   * True if all changes after a revision are in memory or still to come; undefined when that is not yet
   * known.
   */
  holds(revision: number): boolean | undefined {
    return this.#start === undefined ? undefined : revision >= this.#start
  }

  /** All changes up to this revision have been received. */
  get head(): number {
    return (this.#start ?? 0) + this.#recent.length
  }

  /** The change of a revision after one that `holds`, and not after `head`. */
  at(revision: number): Change {
    return this.#recent.at(revision - (this.#start ?? 0) - 1)!
  }

  /** Notifies the watch of new changes until it is removed. */
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
          const changes = watchAll(this.#client, this.#keys, { afterRevision: position, signal: closing })
          for await (const some of changes) this.#append(some)
        } catch (error) {
          closing.throwIfAborted()
          // Watches that are now behind detect that and catch up; the others are not affected.
          log.warn('Restarting etcd watch', { revision: this.head, cause: String(error) })
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
        await this.#client.backoff(failures)
      }
    }
  }

  #begin(position: number): void {
    this.#recent.take(this.#recent.length)
    this.#recentBytes = 0
    this.#start = position
    for (const watch of this.#waiting) watch.notify()
  }

  #append(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#recent.push(change)
      this.#recentBytes += sizeBytes(change)
    }
    for (const watch of this.#waiting) watch.notify()
    while (this.#recentBytes > this.#recentBytesMax) {
      for (const oldest of this.#recent.take(1)) this.#recentBytes -= sizeBytes(oldest)
      this.#start!++
    }
  }
}

/** Approximate memory of a change in addition to its keys and values. */
const overheadBytes = 200

function sizeBytes(change: Change): number {
  const valueBytes = (event: StoreEvent): number => (event.type === 'put' ? event.value.length : 0)
  let sum = overheadBytes
  for (const event of change.events)
    sum += overheadBytes + event.key.length + valueBytes(event) + (event.note?.length ?? 0)
  return sum
}
