import { prefixEnd } from '#/base/key-path.ts'
import { assert } from '#/base/assert.ts'
import type { Entry, StoreEvent } from '../store.ts'
import { deleteEvent, type Event, type KeyValue } from './messages.ts'

/** In a range it stands for the first key, and as the end of one for no end. Nobody writes it. */
export const firstKey = Uint8Array.of(0)

/**
 * Turns keys and entries of the store into those of etcd and back. A prefix in front of every key lets stores
 * share an etcd.
 */
export class KeySpace {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  key(key: string): Uint8Array {
    return Buffer.from(this.#prefix + key)
  }

  /** What a range over everything below a prefix ends before. */
  endOf(prefix: string): Uint8Array {
    assert(prefix.endsWith('/'), `prefix ${prefix} ends with a slash`)
    return Buffer.from(`${this.#prefix}${prefixEnd(prefix)}`)
  }

  entry(kv: KeyValue): Entry {
    const { modRevision, createRevision } = kv
    return { key: this.#name(kv.key) ?? '', value: owned(kv.value), revision: modRevision, createRevision }
  }

  /** Undefined for a key that is not the store's. */
  event({ type, kv }: Event): StoreEvent | undefined {
    const key = kv && this.#name(kv.key)
    if (kv === undefined || key === undefined) return undefined
    const { modRevision: revision, createRevision } = kv
    if (type === deleteEvent) return { type: 'delete', key, revision }
    return { type: 'put', key, revision, createRevision, value: owned(kv.value) }
  }

  #name(bytes: Uint8Array): string | undefined {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    return key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : undefined
  }
}

/**
 * A value is a part of the answer it came in. Kept for long, a small one must not keep a large answer in
 * memory.
 */
function owned(value: Uint8Array): Uint8Array {
  return value.byteLength * 2 < value.buffer.byteLength ? value.slice() : value
}
