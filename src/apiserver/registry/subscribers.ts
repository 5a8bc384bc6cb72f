import type { CacheEvent } from './cache-event.ts'
import type { FieldValue, IndexedField } from './object-index.ts'
import type { StoredObject } from './stored-object.ts'

export interface Subscriber {
  /** Called with the events under the subscriber's prefix, in order. Must not throw. */
  onEvents(events: readonly CacheEvent[]): void
  /** The cache was relisted; events in between are lost. */
  onReset(): void
}

/**
 * Subscribers of one prefix. Subscribers to a single field value, such as a kubelet watching the pods of its
 * node, are indexed by that value, so the cost of an event does not grow with the number of nodes.
 */
export class Subscribers {
  readonly #everything = new Set<Subscriber>()
  /** By the name of the field. */
  readonly #byField = new Map<string, SubscribersOfField>()
  #size = 0

  get isEmpty(): boolean {
    return this.#everything.size === 0 && this.#byField.size === 0
  }

  get size(): number {
    return this.#size
  }

  add(subscriber: Subscriber, indexedField: FieldValue | undefined): void {
    if (indexedField === undefined) {
      if (!this.#everything.has(subscriber)) this.#size++
      this.#everything.add(subscriber)
      return
    }
    const { name, value } = indexedField
    const { byValue } = this.#byField.getOrInsertComputed(name, () => {
      return { field: indexedField, byValue: new Map<string, Set<Subscriber>>() }
    })
    const subscribers = byValue.getOrInsertComputed(value, () => new Set())
    if (!subscribers.has(subscriber)) this.#size++
    subscribers.add(subscriber)
  }

  delete(subscriber: Subscriber, indexedField: FieldValue | undefined): void {
    if (indexedField === undefined) {
      if (this.#everything.delete(subscriber)) this.#size--
      return
    }
    const { name, value } = indexedField
    const byValue = this.#byField.get(name)?.byValue
    const subscribers = byValue?.get(value)
    if (subscribers?.delete(subscriber)) this.#size--
    if (subscribers?.size === 0) byValue?.delete(value)
    if (byValue?.size === 0) this.#byField.delete(name)
  }

  all(): readonly Subscriber[] {
    const chosen = [...this.#byField.values()].flatMap(({ byValue }) => [...byValue.values()])
    return [this.#everything, ...chosen].flatMap(each => [...each])
  }

  /**
   * Visits the subscribers that the event may concern: those of all values, and those of the old and the new
   * value.
   */
  forEach({ current, previous }: CacheEvent, visit: (subscriber: Subscriber) => void): void {
    this.#everything.forEach(visit)
    for (const { field, byValue } of this.#byField.values()) {
      const now = valueOf(current, field)
      const before = valueOf(previous, field)
      if (now !== undefined) byValue.get(now)?.forEach(visit)
      if (before !== undefined && before !== now) byValue.get(before)?.forEach(visit)
    }
  }
}

interface SubscribersOfField {
  readonly field: IndexedField
  readonly byValue: Map<string, Set<Subscriber>>
}

/** Undefined if the object cannot be decoded; reading it reports the error. */
function valueOf(stored: StoredObject | undefined, field: IndexedField): string | undefined {
  try {
    return stored && field.valueOf(stored.object)
  } catch {
    return undefined
  }
}
