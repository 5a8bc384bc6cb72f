import type { StoredObject } from './stored-object.ts'

/** A creation, update or deletion. */
type Change = Pick<CacheEvent, 'revision' | 'key' | 'current' | 'previous'> &
  Partial<Pick<CacheEvent, 'note'>>

/**
 * A change of an object, shared by all watchers, so that each encoding is computed once. Selectors are not
 * applied yet.
 */
export class CacheEvent {
  readonly revision: number
  readonly key: string
  /** Undefined for a deletion. */
  readonly current: StoredObject | undefined
  /** Undefined for a creation. */
  readonly previous: StoredObject | undefined
  #note: Uint8Array | undefined
  #deleted: StoredObject | undefined
  #frames: Map<string, Uint8Array> | undefined
  /** The event in other API versions, by name. */
  #forms: Map<string, CacheEvent> | undefined

  constructor({ revision, key, current, previous, note }: Change) {
    this.revision = revision
    this.key = key
    this.current = current
    this.previous = previous
    this.#note = note
  }

  /** The encoded origin of the write; only for those that take the event at once. */
  get note(): Uint8Array | undefined {
    return this.#note
  }

  /** Size of the new object, or of the deleted one. */
  get sizeBytes(): number {
    return (this.current ?? this.previous)?.sizeBytes ?? 0
  }

  /** The previous object at the revision of this event, for DELETED events. */
  get deleted(): StoredObject | undefined {
    this.#deleted ??= this.previous?.at(this.revision)
    return this.#deleted
  }

  /** The cached encoding, computed on first use. */
  frame(name: string, make: () => Uint8Array): Uint8Array {
    const known = this.#frames?.get(name)
    if (known) return known
    const made = make()
    this.#frames ??= new Map()
    this.#frames.set(name, made)
    return made
  }

  /** The event with other forms of its objects, cached by name; itself if they are the same. */
  form(name: string, formOf: (stored: StoredObject) => StoredObject): CacheEvent {
    const known = this.#forms?.get(name)
    if (known) return known
    const { revision, key } = this
    const current = this.current && formOf(this.current)
    const previous = this.previous && formOf(this.previous)
    if (current === this.current && previous === this.previous) return this
    const made = new CacheEvent({ revision, key, current, previous })
    this.#forms ??= new Map()
    this.#forms.set(name, made)
    return made
  }

  /**
   * Drops cached encodings and decoded forms to save memory, except those of `current`, which may still be
   * the live object.
   */
  releaseDecoded(): void {
    this.#note = undefined
    this.#frames = undefined
    this.#forms = undefined
    this.#deleted = undefined
    this.previous?.releaseDecoded()
  }
}
