import { isApiError } from '#/api/errors.ts'
import { assert } from '#/base/assert.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { RawClient } from '#/client/client.ts'
import { listWrites } from '#/client/list-writes.ts'

/** Writes around one that is looked up are often looked up next. */
const windowRevisions = 128
const requestsMax = 100
/** Bounds what one window may return. */
const windowMax = 1_000

/** Looks up writes by their revisions, in windows. */
export class KnownWrites {
  readonly #client: RawClient
  readonly #signal: AbortSignal | undefined
  readonly #writes = new Map<number, WriteRecord>()
  readonly #missing = new Set<number>()
  #requests = 0

  constructor(client: RawClient, signal: AbortSignal | undefined) {
    this.#client = client
    this.#signal = signal
  }

  add(writes: Iterable<WriteRecord>): void {
    for (const write of writes) this.#writes.set(write.revision, write)
  }

  get(revision: number): WriteRecord | undefined {
    return this.#writes.get(revision)
  }

  /** Undefined if it is not recorded any more, or may not be read. */
  async find(revision: number): Promise<WriteRecord | undefined> {
    const known = this.#writes.get(revision)
    if (known !== undefined || this.#missing.has(revision)) return known
    if (this.#requests >= requestsMax) return undefined
    await this.#read(Math.max(0, revision - windowRevisions), revision)
    // The begin of the window may be too old where its end is not.
    if (!this.#writes.has(revision)) await this.#read(revision - 1, revision)
    const found = this.#writes.get(revision)
    if (found === undefined) this.#missing.add(revision)
    return found
  }

  /** The write and all that caused it, directly or not, as far as they are recorded. */
  async findAncestors(write: WriteRecord): Promise<readonly WriteRecord[]> {
    const visited = new Set([write.revision])
    const found = [write]
    for (let at = 0; at < found.length; at++) {
      const { origin, revision } = found[at] ?? write
      for (const cause of origin?.pass?.causes ?? []) {
        if (cause >= revision || visited.has(cause)) continue
        visited.add(cause)
        const causing = await this.find(cause)
        if (causing !== undefined) found.push(causing)
      }
    }
    return found
  }

  async #read(after: number, until: number): Promise<void> {
    assert(after < until, 'the window of writes is empty')
    this.#requests++
    try {
      const { writes } = await listWrites(this.#client, {
        after,
        until,
        limit: windowMax,
        ...(this.#signal && { signal: this.#signal }),
      })
      for await (const write of writes) this.#writes.set(write.revision, write)
    } catch (error) {
      if (!isApiError(error, 'Expired')) throw error
    }
  }
}
