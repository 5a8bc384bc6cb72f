/** Messages between writers and the store's host, one JSON document per datagram. */

export const storeHost = 'store'
export const requestPort = 2_379
export const watchPort = 2_380

/** Value that a writer stores. Writer and sequence identify the write. */
export interface Note {
  readonly writer: string
  readonly sequence: number
  /**
   * The last write of each writer that this one is based on. If a writer's response was lost and its note
   * overwritten, it finds its own write and revision here.
   */
  readonly ancestors: readonly Ancestor[]
}

export interface Ancestor {
  readonly writer: string
  readonly sequence: number
  readonly revision: number
}

export interface StoredNote {
  readonly revision: number
  readonly note: Note
}

/** Safe to retry: writes name the revision they replace, 0 for none. */
export type StoreRequest =
  | { readonly verb: 'get'; readonly key: string }
  | { readonly verb: 'put'; readonly key: string; readonly note: Note; readonly expectedRevision: number }
  | { readonly verb: 'delete'; readonly key: string; readonly expectedRevision: number }

export type StoreResponse =
  | { readonly outcome: 'found' | 'lost-race'; readonly stored?: StoredNote }
  | { readonly outcome: 'written'; readonly revision: number }

/** A request or response; a response has the id of its request. */
export interface Message<T> {
  readonly id: string
  readonly content: T
}

/** Sent to the watcher: all events up to and including this revision. */
export interface Progress {
  readonly revision: number
  readonly events: readonly NoteEvent[]
}

export type NoteEvent = NotePut | NoteDelete

interface NotePut {
  readonly kind: 'put'
  readonly key: string
  readonly revision: number
  readonly writer: string
  readonly sequence: number
}

interface NoteDelete {
  readonly kind: 'delete'
  readonly key: string
  readonly revision: number
}

export function encode(message: Message<StoreRequest> | Message<StoreResponse> | Note): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}

export function decodeRequest(bytes: Uint8Array): Message<StoreRequest> {
  return JSON.parse(Buffer.from(bytes).toString()) as Message<StoreRequest>
}

export function decodeResponse(bytes: Uint8Array): Message<StoreResponse> {
  return JSON.parse(Buffer.from(bytes).toString()) as Message<StoreResponse>
}

export function decodeNote(bytes: Uint8Array): Note {
  return JSON.parse(Buffer.from(bytes).toString()) as Note
}
