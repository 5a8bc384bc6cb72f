import { prefixEnd } from '#/base/key-path.ts'
import { assert } from '#/base/assert.ts'
import type { Entry, StoreEvent } from '../store.ts'
import { deleteEvent, type Event, type KeyValue } from '../etcd-messages.ts'

/** The start of a range over all keys; as the end of a range it means no end. No such key is written. */
export const firstKey = Uint8Array.of(0)

/**
 * Converts keys and entries between the store and etcd, with an optional prefix so that several stores can
 * share an etcd.
 */
export class KeySpace {
  /**
   * Each write puts its note there in the same transaction, so that both have one revision. It is below no key of a
   * store, as those begin with a slash, and is not read by other API servers.
   */
  readonly noteKey: Uint8Array
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
    this.noteKey = this.key('k8ts/note')
  }

  key(key: string): Uint8Array {
    return Buffer.from(this.#prefix + key)
  }

  /** The exclusive end of the range of a prefix. */
  endOf(prefix: string): Uint8Array {
    assert(prefix.endsWith('/'), `prefix ${prefix} ends with a slash`)
    return Buffer.from(`${this.#prefix}${prefixEnd(prefix)}`)
  }

  entry(kv: KeyValue): Entry {
    const { modRevision, createRevision } = kv
    return { key: this.#name(kv.key) ?? '', value: owned(kv.value), revision: modRevision, createRevision }
  }

  /** Undefined for a key outside of the store's prefix. */
  event({ type, kv }: Event): StoreEvent | undefined {
    const key = kv && this.#name(kv.key)
    if (kv === undefined || key === undefined) return undefined
    const { modRevision: revision, createRevision } = kv
    if (type === deleteEvent) return { type: 'delete', key, revision }
    return { type: 'put', key, revision, createRevision, value: owned(kv.value) }
  }

  /** The note of the revision; undefined when the event is that of another key. */
  noteIn({ kv }: Event): Uint8Array | undefined {
    if (kv === undefined || Buffer.compare(kv.key, this.noteKey) !== 0) return undefined
    return owned(kv.value)
  }

  #name(bytes: Uint8Array): string | undefined {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    return key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : undefined
  }
}

/**
 * A value is a view of its response. Small values are copied, so that a cached one does not keep a large
 * response in memory.
 */
function owned(value: Uint8Array): Uint8Array {
  return value.byteLength * 2 < value.buffer.byteLength ? value.slice() : value
}
