/** Concurrent writers of a store, and a compactor. Each written value is unique. */
import type { Clock, Random } from '#/platform/platform.ts'
import { StoreError, type Entry, type Store } from '#/store/store.ts'
import type { Observations } from './observations.ts'

export interface WritersOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly observations: Observations
  readonly label: string
}

const writerCount = 4
const writesOfEach = 40
const keyCount = 12
const valueBytesMax = 600

export class Writers {
  readonly #options: WritersOptions
  #written = 0

  constructor(options: WritersOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    const writers = Array.from({ length: writerCount }, (_, writer) => this.#write(writer))
    await Promise.all([...writers, this.#compact()])
  }

  async #write(writer: number): Promise<void> {
    for (let write = 0; write < writesOfEach; write++) {
      try {
        await this.#writeOnce(writer)
      } catch (error) {
        // The disk failed: the store is closed, and the outcome of the write is unknown.
        if (error instanceof StoreError && error.reason !== 'closed') throw error
        return
      }
    }
  }

  async #writeOnce(writer: number): Promise<void> {
    const { store, random, observations, label } = this.#options
    const key = `/registry/things/${random.integer('key', keyCount)}`
    const current = await this.#read(key)
    if (current === 'damaged') return
    const isDeletion = current !== undefined && random.integer('deletion', 4) === 0
    const filling = 'x'.repeat(random.integer('value size', valueBytesMax))
    const name = `${label}, writer ${writer}, write ${this.#written++}`
    const value = isDeletion ? undefined : `${name} ${filling}`
    const note = random.integer('note', 4) === 0 ? '' : `note of ${name}`
    const expectedRevision = current?.revision ?? 0
    const attempt = observations.begin({ key, value, note, expectedRevision })
    const bytes = Buffer.from(value ?? '')
    const noted = note === '' ? {} : { note: Buffer.from(note) }
    const result = await (isDeletion
      ? store.delete(key, { expectedRevision, ...noted })
      : current
        ? store.update(key, bytes, { expectedRevision, ...noted })
        : store.create(key, bytes, noted))
    observations.end(attempt, result.written ? result.revision : undefined)
  }

  async #read(key: string): Promise<Entry | 'damaged' | undefined> {
    const { store, observations } = this.#options
    try {
      const entry = await store.get(key)
      observations.read(key, entry)
      return entry
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'damaged') throw error
      observations.damagedReads++
      return 'damaged'
    }
  }

  async #compact(): Promise<void> {
    const { store, clock, random } = this.#options
    try {
      for (let count = 0; count < 6; count++) {
        await clock.sleep(random.integer('time to compaction', 60))
        const revision = await store.revision()
        const compacted = await store.compactedRevision()
        await store.compact(Math.max(compacted, revision - random.integer('history kept', 40)))
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'closed') throw error
    }
  }
}
