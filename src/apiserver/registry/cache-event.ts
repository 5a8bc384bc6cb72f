import type { StoredObject } from './stored-object.ts'

/** A change as watchers see it, before selectors. One value for all of them, so what it is encoded to is made once. */
export class CacheEvent {
  readonly revision: number
  readonly key: string
  /** Undefined for a deletion. */
  readonly current: StoredObject | undefined
  /** Undefined for a creation. */
  readonly previous: StoredObject | undefined
  /** The change for those who do not see what is hidden; undefined when they see no change at all. */
  readonly visible: CacheEvent | undefined
  #gone: StoredObject | undefined
  #frames: Map<string, Uint8Array> | undefined

  constructor(
    revision: number,
    key: string,
    current: StoredObject | undefined,
    previous: StoredObject | undefined,
    isHidden?: (stored: StoredObject) => boolean,
  ) {
    this.revision = revision
    this.key = key
    this.current = current
    this.previous = previous
    this.visible = isHidden === undefined ? this : this.#without(isHidden)
  }

  #without(isHidden: (stored: StoredObject) => boolean): CacheEvent | undefined {
    const current = this.current && !isHidden(this.current) ? this.current : undefined
    const previous = this.previous && !isHidden(this.previous) ? this.previous : undefined
    if (current === this.current && previous === this.previous) return this
    return current || previous ? new CacheEvent(this.revision, this.key, current, previous) : undefined
  }

  /** Of the object that came, or of the one that went. */
  get sizeBytes(): number {
    return (this.current ?? this.previous)?.sizeBytes ?? 0
  }

  /** The object as it was last seen, under the revision at which it went, or went out of sight. */
  get gone(): StoredObject | undefined {
    this.#gone ??= this.previous?.at(this.revision)
    return this.#gone
  }

  /** The bytes of one form of the event, made at the first use. */
  frame(name: string, make: () => Uint8Array): Uint8Array {
    const known = this.#frames?.get(name)
    if (known) return known
    const made = make()
    this.#frames ??= new Map()
    this.#frames.set(name, made)
    return made
  }

  /** Lets go of all that can be made again, but for what came: as long as nothing follows it, it is what is there. */
  slim(): void {
    this.#frames = undefined
    this.#gone = undefined
    this.previous?.slim()
  }
}
