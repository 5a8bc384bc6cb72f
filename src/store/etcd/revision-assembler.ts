import type { StoreEvent } from '../store.ts'
import type { KeySpace } from './keys.ts'
import type { Event } from '../etcd-messages.ts'

/** All events of one revision; empty when it changed only keys outside of the store. */
export interface Change {
  readonly revision: number
  readonly events: readonly StoreEvent[]
}

/**
 * Groups the events of a watch over all of etcd by revision. Such a watch sees every revision, so a missing
 * one is detected.
 */
export class RevisionAssembler {
  readonly #keys: KeySpace
  /** All revisions up to this one have been returned. */
  #position: number
  /** The events so far of the revision after `#position`, while more may follow. */
  #partial: StoreEvent[] | undefined
  /** The note of that revision. */
  #note: Uint8Array | undefined

  constructor(keys: KeySpace, position: number) {
    this.#keys = keys
    this.#position = position
  }

  /**
   * With `isFragment`, the last revision may continue in the next events. Undefined when a revision is
   * missing.
   */
  take(events: readonly Event[], isFragment: boolean): Change[] | undefined {
    const changes: Change[] = []
    for (const event of events) {
      const revision = event.kv?.modRevision ?? 0
      // A restarted watch may repeat events.
      if (revision <= this.#position) continue
      if (this.#partial && revision > this.#position + 1 && !this.#finish(changes)) return undefined
      if (revision > this.#position + 1) return undefined
      this.#partial ??= []
      const note = this.#keys.noteIn(event)
      const own = note ? undefined : this.#keys.event(event)
      if (note) this.#note = note
      if (own) this.#partial.push(own)
    }
    if (this.#partial && !isFragment && !this.#finish(changes)) return undefined
    return changes
  }

  /** False for a note without its write: a deletion that was compacted, of which etcd delivers only the note. */
  #finish(changes: Change[]): boolean {
    const events = this.#partial ?? []
    const note = this.#note
    if (note && events.length === 0) return false
    changes.push({
      revision: ++this.#position,
      events: note ? events.map(event => ({ ...event, note })) : events,
    })
    this.#partial = undefined
    this.#note = undefined
    return true
  }
}
