/** What writers and the store's host say to each other, one JSON document in each datagram. */

export const storeHost = 'store'
export const questionPort = 2_379
export const watchPort = 2_380

/**
 * What a writer stores. A writer never stores the same sequence twice, so a note says whose and which write
 * it is.
 */
export interface Note {
  readonly writer: string
  readonly sequence: number
  /**
   * The last write of each writer that this one was built on. Somebody whose answer was lost, and whose note
   * was overwritten since, finds here that it had been written, and at which revision.
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

/** Each may be asked again when no answer came: writes name the revision they replace, 0 for none. */
export type Question =
  | { readonly ask: 'get'; readonly key: string }
  | { readonly ask: 'put'; readonly key: string; readonly note: Note; readonly expectedRevision: number }
  | { readonly ask: 'delete'; readonly key: string; readonly expectedRevision: number }

export type Answer =
  | { readonly outcome: 'found' | 'lost-race'; readonly stored?: StoredNote }
  | { readonly outcome: 'written'; readonly revision: number }

/** A question or an answer on its way; an answer has the id of its question. */
export interface Letter<T> {
  readonly id: string
  readonly content: T
}

/** What the watcher hears: everything that happened up to and including this revision. */
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

export function encode(message: Letter<Question> | Letter<Answer> | Note): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}

export function decodeQuestion(bytes: Uint8Array): Letter<Question> {
  return JSON.parse(Buffer.from(bytes).toString()) as Letter<Question>
}

export function decodeAnswer(bytes: Uint8Array): Letter<Answer> {
  return JSON.parse(Buffer.from(bytes).toString()) as Letter<Answer>
}

export function decodeNote(bytes: Uint8Array): Note {
  return JSON.parse(Buffer.from(bytes).toString()) as Note
}
