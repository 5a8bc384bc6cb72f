import type { ObjectMeta } from '#/api/metadata.ts'
import { apiErrorOfStatus, type ApiError, type Status } from './api-error.ts'

/** How the items of a list are read from responses: objects, or rows of a table. */
export interface ListFormat<T, Head = undefined> {
  readonly accept: string
  /** Items of a page; `head` is what the list says about all of them. */
  readPage(list: ListMessage): { readonly items: readonly T[]; readonly head: Head }
  /** Undefined for an event without an item. */
  readItem(object: ListMessage): T | undefined
  metadataOf(item: T): ObjectMeta
}

/** A list, table, or object, as decoded from JSON. */
export interface ListMessage {
  readonly metadata?: ObjectMeta & { readonly continue?: string; readonly remainingItemCount?: number }
  readonly [field: string]: unknown
}

export interface WatchMessage {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: ListMessage
}

/** The items of a list as of a resource version. */
export class WatchCache<T> {
  readonly #format: ListFormat<T, unknown>
  /** By namespace and name. */
  #items = new Map<string, T>()
  /** Version of the last event or list; a watch continues there. */
  resourceVersion = ''

  constructor(format: ListFormat<T, unknown>) {
    this.#format = format
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items
  }

  replace(items: readonly T[], resourceVersion: string): void {
    this.#items = new Map(items.map(item => [itemKey(this.#format.metadataOf(item)), item]))
    this.resourceVersion = resourceVersion
  }

  /** Applies events in order. Returns the error with which the server ended the watch. */
  apply(messages: readonly WatchMessage[]): ApiError | undefined {
    for (const { type, object } of messages) {
      if (type === 'ERROR') return apiErrorOfStatus(object as Status)
      const version = object.metadata?.resourceVersion
      if (version !== undefined) this.resourceVersion = version
      const item = type === 'BOOKMARK' ? undefined : this.#format.readItem(object)
      if (item !== undefined) this.#store(type, item)
    }
    return undefined
  }

  #store(type: WatchMessage['type'], item: T): void {
    const key = itemKey(this.#format.metadataOf(item))
    if (type === 'DELETED') this.#items.delete(key)
    else this.#items.set(key, item)
  }
}

export function itemKey({ namespace = '', name = '' }: ObjectMeta): string {
  return `${namespace}/${name}`
}
