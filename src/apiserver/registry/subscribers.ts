import type { KubernetesObject } from '#/api/metadata.ts'
import type { CacheEvent } from './cache-event.ts'
import type { StoredObject } from './stored-object.ts'

export interface Subscriber {
  /** Called with the events under the subscriber's prefix, in order. Must not throw. */
  onEvents(events: readonly CacheEvent[]): void
  /** The cache was relisted; events in between are lost. */
  onReset(): void
}

/** Selects objects by the value of a field. Fields are compared by function identity. */
export interface FieldValue {
  readonly field: (object: KubernetesObject) => string
  readonly value: string
}

/**
 * Subscribers of one prefix. Subscribers to a single field value, such as a kubelet watching the pods of its
 * node, are indexed by that value, so the cost of an event does not grow with the number of nodes.
 */
export class Subscribers {
  readonly #everything = new Set<Subscriber>()
  readonly #byField = new Map<FieldValue['field'], Map<string, Set<Subscriber>>>()

  get isEmpty(): boolean {
    return this.#everything.size === 0 && this.#byField.size === 0
  }

  add(subscriber: Subscriber, indexedField: FieldValue | undefined): void {
    if (indexedField === undefined) {
      this.#everything.add(subscriber)
      return
    }
    const byValue = this.#byField.get(indexedField.field) ?? new Map<string, Set<Subscriber>>()
    this.#byField.set(indexedField.field, byValue)
    const subscribers = byValue.get(indexedField.value) ?? new Set()
    byValue.set(indexedField.value, subscribers.add(subscriber))
  }

  delete(subscriber: Subscriber, indexedField: FieldValue | undefined): void {
    if (indexedField === undefined) {
      this.#everything.delete(subscriber)
      return
    }
    const byValue = this.#byField.get(indexedField.field)
    const subscribers = byValue?.get(indexedField.value)
    subscribers?.delete(subscriber)
    if (subscribers?.size === 0) byValue?.delete(indexedField.value)
    if (byValue?.size === 0) this.#byField.delete(indexedField.field)
  }

  all(): readonly Subscriber[] {
    const chosen = [...this.#byField.values()].flatMap(byValue => [...byValue.values()])
    return [this.#everything, ...chosen].flatMap(each => [...each])
  }

  /**
   * Visits the subscribers that the event may concern: those of all values, and those of the old and the new
   * value.
   */
  forEach({ current, previous }: CacheEvent, visit: (subscriber: Subscriber) => void): void {
    this.#everything.forEach(visit)
    for (const [field, byValue] of this.#byField) {
      const now = valueOf(current, field)
      const before = valueOf(previous, field)
      if (now !== undefined) byValue.get(now)?.forEach(visit)
      if (before !== undefined && before !== now) byValue.get(before)?.forEach(visit)
    }
  }
}

/** Undefined if the object cannot be decoded; reading it reports the error. */
function valueOf(stored: StoredObject | undefined, field: FieldValue['field']): string | undefined {
  try {
    return stored && field(stored.object)
  } catch {
    return undefined
  }
}
