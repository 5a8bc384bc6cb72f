/**
 * The objects of a store at one revision, as snapshots and migrations copy them. They are read from the files of an
 * embedded store, from a snapshot, or from an etcd.
 */
import { hash } from 'node:crypto'
import type { Entry } from './store.ts'

export interface StoreContent extends AsyncDisposable {
  readonly storeId: string
  readonly revision: number
  /** Verified while they are read: the iteration throws when something is damaged. Each key once. */
  entries(): AsyncIterable<StoredEntry>
}

export interface StoredEntry extends Entry {
  /** Wall time at which the key expires; 0 for never. */
  readonly expiresMs: number
}

/** Identifies the keys and values of a store, as etcd's HashKV does; without revisions, which a migration changes. */
export interface ContentHash {
  /** SHA-256 over all keys and values in the order of the keys, in hexadecimal. */
  readonly hash: string
  readonly keyCount: number
}

/** Entries may be added in any order. Memory is bounded by the number of keys, not by the size of the values. */
export class ContentHasher {
  readonly #digests: { readonly key: string; readonly digest: Buffer }[] = []

  add({ key, value }: Pick<Entry, 'key' | 'value'>): void {
    // A key has no zero bytes, so key and value cannot be confused.
    const digest = hash('sha256', Buffer.concat([Buffer.from(`${key}\0`), value]), 'buffer')
    this.#digests.push({ key, digest })
  }

  /** Adds the entries while they are read. */
  async *passing(entries: AsyncIterable<StoredEntry>): AsyncGenerator<StoredEntry, void, undefined> {
    for await (const entry of entries) {
      this.add(entry)
      yield entry
    }
  }

  finish(): ContentHash {
    const sorted = this.#digests.toSorted((left, right) => (left.key < right.key ? -1 : 1))
    const all = Buffer.concat(sorted.map(({ digest }) => digest))
    return { hash: hash('sha256', all, 'hex'), keyCount: sorted.length }
  }
}

export async function hashContent(content: Pick<StoreContent, 'entries'>): Promise<ContentHash> {
  const hasher = new ContentHasher()
  for await (const entry of content.entries()) hasher.add(entry)
  return hasher.finish()
}
