/** The indexes of one resource: created on first use, and the least recently used dropped beyond a bound. */
import type { Clock } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { ObjectIndex, type FieldCondition, type IndexedField, type IndexRange } from './object-index.ts'
import type { StoredObject } from './stored-object.ts'

export interface ObjectIndexesOptions {
  readonly clock: Clock
  /** All current objects of the resource. */
  readonly objects: () => readonly StoredObject[]
  readonly isCurrent: (stored: StoredObject) => boolean
  /** Number of current objects. */
  readonly count: () => number
}

interface PreparedIndex {
  readonly index: ObjectIndex
  /** Resolves when the index is complete. */
  readonly completed: Promise<void>
}

export class ObjectIndexes {
  readonly #options: ObjectIndexesOptions
  /** By name of the field, least recently used first. */
  readonly #indexes = new Map<string, PreparedIndex>()

  constructor(options: ObjectIndexesOptions) {
    this.#options = options
  }

  async prepare(fields: readonly IndexedField[]): Promise<void> {
    for (const field of fields.slice(0, indexesMax)) {
      const prepared = this.#indexes.get(field.name) ?? this.#create(field)
      this.#indexes.delete(field.name)
      this.#indexes.set(field.name, prepared)
      if (!prepared.index.isComplete) await prepared.completed
    }
    for (const name of this.#indexes.keys()) {
      if (this.#indexes.size <= indexesMax) return
      this.#indexes.delete(name)
    }
  }

  change(previous: StoredObject | undefined, current: StoredObject | undefined): void {
    for (const { index } of this.#indexes.values()) index.change(previous, current)
  }

  /** Uses the index with the fewest matches. Undefined if that is not much less than all objects. */
  select(conditions: readonly FieldCondition[], range: IndexRange): readonly StoredObject[] | undefined {
    let best: { readonly index: ObjectIndex; readonly condition: FieldCondition } | undefined
    let fewest = this.#options.count() / selectivityMin
    for (const condition of conditions) {
      const index = this.#indexes.get(condition.name)?.index
      if (index === undefined || !index.isComplete) continue
      const count = index.count(condition.values)
      if (count > fewest) continue
      fewest = count
      best = { index, condition }
    }
    return best?.index.find(best.condition.values, range)
  }

  #create(field: IndexedField): PreparedIndex {
    const index = new ObjectIndex(field)
    return { index, completed: this.#fill(index) }
  }

  /** Changes meanwhile are reported to the index, too. */
  async #fill(index: ObjectIndex): Promise<void> {
    const { clock, objects, isCurrent } = this.#options
    const slices = new TimeSlices(clock, 'build index')
    for (const stored of objects()) {
      if (isCurrent(stored)) index.change(undefined, stored)
      const pause = slices.pause()
      if (pause) await pause
    }
    index.isComplete = true
  }
}

/** An index that selects more than one in this many objects is not faster than going through all of them. */
const selectivityMin = 4

/** Clients decide which labels are indexed. */
const indexesMax = 32
