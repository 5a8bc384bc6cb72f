import type { KubernetesObject } from '#/api/metadata.ts'
import type { CacheEvent } from './cache-event.ts'
import type { StoredObject } from './stored-object.ts'

export interface Subscriber {
  /** Events below the subscriber's prefix, in order. Must not throw. */
  onEvents(events: readonly CacheEvent[]): void
  /** The cache had to start again from a list: what happened in between is not known. */
  onReset(): void
}

/** Objects of which one field has this value. The same function stands for the same field. */
export interface FieldValue {
  readonly field: (object: KubernetesObject) => string
  readonly value: string
}

/**
 * Who wants to hear of what is below one prefix. Those who only care for one value of a field, as each kubelet does for
 * the pods of its node, are found by the value: with a thousand nodes an event costs what it does with one.
 */
export class Subscribers {
  readonly #everything = new Set<Subscriber>()
  readonly #byField = new Map<FieldValue['field'], Map<string, Set<Subscriber>>>()

  get isEmpty(): boolean {
    return this.#everything.size === 0 && this.#byField.size === 0
  }

  add(subscriber: Subscriber, among: FieldValue | undefined): void {
    if (among === undefined) {
      this.#everything.add(subscriber)
      return
    }
    const byValue = this.#byField.get(among.field) ?? new Map<string, Set<Subscriber>>()
    this.#byField.set(among.field, byValue)
    const subscribers = byValue.get(among.value) ?? new Set()
    byValue.set(among.value, subscribers.add(subscriber))
  }

  delete(subscriber: Subscriber, among: FieldValue | undefined): void {
    if (among === undefined) {
      this.#everything.delete(subscriber)
      return
    }
    const byValue = this.#byField.get(among.field)
    const subscribers = byValue?.get(among.value)
    subscribers?.delete(subscriber)
    if (subscribers?.size === 0) byValue?.delete(among.value)
    if (byValue?.size === 0) this.#byField.delete(among.field)
  }

  all(): readonly Subscriber[] {
    const chosen = [...this.#byField.values()].flatMap(byValue => [...byValue.values()])
    return [this.#everything, ...chosen].flatMap(each => [...each])
  }

  /** Those to whom the event may matter: the object had or has the value that they care for. */
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

/** What cannot be read has no value: whoever asks for the object itself is told why. */
function valueOf(stored: StoredObject | undefined, field: FieldValue['field']): string | undefined {
  try {
    return stored && field(stored.object)
  } catch {
    return undefined
  }
}
