/**
 * Writes notes to keys shared by all writers, each based on the last read, and creates and deletes its own
 * keys. Reports the outcome of each write: its revision, or that it did not happen and never will.
 */
import type { Platform } from '#/platform/platform.ts'
import { StoreClient } from './store-client.ts'
import type { Observations } from './checkers.ts'
import type { Ancestor, StoreResponse, Note, StoredNote } from './messages.ts'

export interface WriterOptions {
  readonly platform: Platform
  readonly name: string
  readonly writes: number
  /** Maximum time for which a datagram is in transit. */
  readonly datagramLifetimeMs: number
  readonly observations: Observations
}

const sharedKeys = ['/shared/a', '/shared/b']

export class Writer {
  readonly #options: WriterOptions
  readonly #client: StoreClient

  constructor(options: WriterOptions) {
    this.#options = options
    this.#client = new StoreClient(options.platform, options.name)
  }

  async run(): Promise<void> {
    const { platform, writes } = this.#options
    for (let sequence = 1; sequence <= writes; sequence++) {
      if (platform.random.integer('kind of write', 4) === 0) await this.#makeAndRemove(sequence)
      else await this.#replace(sequence)
    }
  }

  async #replace(sequence: number): Promise<void> {
    const { platform, name, observations } = this.#options
    const key = sharedKeys[platform.random.integer('key', sharedKeys.length)] ?? ''
    const found = await this.#client.send({ verb: 'get', key })
    const before = found.outcome === 'found' ? found.stored : undefined
    observations.read.push({ writer: name, key, revision: before?.revision ?? 0 })
    const note = { writer: name, sequence, ancestors: ancestorsWith(before) }
    this.#report({ key, sequence }, await this.#put(key, note, before?.revision ?? 0))
  }

  /** Each key is used once: created by one write and deleted by another. */
  async #makeAndRemove(sequence: number): Promise<void> {
    const { platform, name, observations, datagramLifetimeMs } = this.#options
    const key = `/private/${name}/${sequence}`
    const revision = await this.#put(key, { writer: name, sequence, ancestors: [] }, 0)
    this.#report({ key, sequence }, revision)
    if (revision === undefined) return
    // A delayed duplicate of the create request would recreate the key after its deletion.
    await platform.clock.sleep(datagramLifetimeMs)
    const removed = await this.#client.send({ verb: 'delete', key, expectedRevision: revision })
    if (removed.outcome === 'written') {
      observations.acknowledged.push({ kind: 'delete', writer: name, key, revision: removed.revision })
    } else if (removed.stored === undefined) {
      // No other writer deletes the key, so an earlier attempt succeeded and its response was lost.
      observations.acknowledged.push({ kind: 'delete', writer: name, key })
    } else {
      const { revision: actual } = removed.stored
      observations.oddities.push(`${name} could not delete ${key}: it is at ${actual}, not ${revision}`)
    }
  }

  /** The revision of the write; undefined if it did not happen. */
  async #put(key: string, note: Note, expectedRevision: number): Promise<number | undefined> {
    return revisionOf(await this.#client.send({ verb: 'put', key, note, expectedRevision }), note)
  }

  #report(write: { key: string; sequence: number }, revision: number | undefined): void {
    const { name: writer, observations, platform } = this.#options
    platform.log.info(revision === undefined ? 'lost a race' : 'wrote', { ...write, revision })
    if (revision === undefined) observations.rejected.push({ writer, ...write })
    else observations.acknowledged.push({ kind: 'put', writer, ...write, revision })
  }
}

/** The revision of a write according to the response, even if an earlier attempt of it succeeded. */
export function revisionOf(response: StoreResponse, note: Note): number | undefined {
  if (response.outcome === 'written') return response.revision
  const ours = ancestorsWith(response.stored).find(each => each.writer === note.writer)
  return ours?.sequence === note.sequence ? ours.revision : undefined
}

/** The last write of each writer, including the stored one. */
function ancestorsWith(stored: StoredNote | undefined): readonly Ancestor[] {
  if (stored === undefined) return []
  const { writer, sequence, ancestors } = stored.note
  const others = ancestors.filter(each => each.writer !== writer)
  return [...others, { writer, sequence, revision: stored.revision }]
}
