import type { StoreEvent } from '../store.ts'
import type { KeySpace } from './keys.ts'
import type { Event } from './messages.ts'

/** All that one revision changed in the store; nothing when it changed only what is not the store's. */
export interface Change {
  readonly revision: number
  readonly events: readonly StoreEvent[]
}

/**
 * Puts the events of a watch over all of etcd together into whole revisions. Such a watch sees every
 * revision, so that one that is missing is noticed, whatever the reason.
 */
export class RevisionAssembler {
  readonly #keys: KeySpace
  /** Every revision up to this one has been handed out. */
  #position: number
  /** The events so far of the revision after `#position`, while it may have more. */
  #partial: StoreEvent[] | undefined

  constructor(keys: KeySpace, position: number) {
    this.#keys = keys
    this.#position = position
  }

  /**
   * `isFragment` when the last revision may go on in the next events. Undefined when a revision is missing.
   */
  take(events: readonly Event[], isFragment: boolean): Change[] | undefined {
    const changes: Change[] = []
    for (const event of events) {
      const revision = event.kv?.modRevision ?? 0
      // A watch begins anew where the last one may have got to.
      if (revision <= this.#position) continue
      if (this.#partial && revision > this.#position + 1) this.#finish(changes)
      if (revision > this.#position + 1) return undefined
      this.#partial ??= []
      const own = this.#keys.event(event)
      if (own) this.#partial.push(own)
    }
    if (this.#partial && !isFragment) this.#finish(changes)
    return changes
  }

  #finish(changes: Change[]): void {
    changes.push({ revision: ++this.#position, events: this.#partial ?? [] })
    this.#partial = undefined
  }
}
