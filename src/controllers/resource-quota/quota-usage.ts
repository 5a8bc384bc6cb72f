/**
 * Usage counted against one quota, by object, so that the cost of a change does not depend on the number of
 * objects. Each object's usage is stored, since it may change over time.
 */
import { Heap, type HeapEntry } from '#/base/heap.ts'
import type { ResourceQuota } from '#/api/generated/core/v1.ts'
import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import {
  addQuantities,
  compareQuantities,
  isZeroQuantity,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { isInAllScopes, scopesOf, type Amounts, type QuotaEvaluator } from '#/api/quota.ts'
import { parseTime } from '#/api/text/time.ts'
import { equalAmounts } from './equal-amounts.ts'

/** A resource with a quota evaluator. */
export interface CountedKind {
  /** Qualified resource name: `pods`, `deployments.apps`. */
  readonly name: string
  readonly evaluator: QuotaEvaluator
}

export class QuotaUsage {
  readonly #scopes: ReturnType<typeof scopesOf>
  /** Usage so far, by resource name. */
  readonly #sums = new Map<string, Quantity>()
  /** Kinds that have not been included yet, since their informers have not synced. */
  readonly #awaited: Set<CountedKind>
  /** Usage by kind and object key; objects without usage are omitted. */
  readonly #objects = new Map<CountedKind, Map<string, Amounts>>()
  readonly #timed = new TimedObjects()
  #released = new Map<string, Quantity>()

  constructor(quota: ResourceQuota, kinds: readonly CountedKind[]) {
    const names = Object.keys(quota.spec?.hard ?? {})
    const counting = kinds.filter(({ evaluator }) => names.some(name => evaluator.matchesResource(name)))
    this.#scopes = scopesOf(quota)
    this.#awaited = new Set(counting)
    for (const name of names) {
      if (counting.some(({ evaluator }) => evaluator.matchesResource(name)))
        this.#sums.set(name, zeroQuantity)
    }
  }

  /** Kinds for which `include` must be called. */
  get awaited(): ReadonlySet<CountedKind> {
    return this.#awaited
  }

  /** Usage of each resource name that is completely counted, including zero. */
  get counted(): Amounts {
    if (this.#awaited.size === 0) return this.#sums
    const awaited = [...this.#awaited]
    return new Map(
      [...this.#sums].filter(([name]) => !awaited.some(({ evaluator }) => evaluator.matchesResource(name))),
    )
  }

  /** Usage released since the last `settle`. */
  get released(): Amounts {
    return this.#released
  }

  /** Time at which an object's usage next decreases without an event; Infinity if none. */
  get nextChangeMs(): number {
    return this.#timed.nextMs
  }

  /** Counts all objects of a kind. From then on changes of the kind must be reported. */
  include(kind: CountedKind, objects: readonly Stored[], nowMs: number): void {
    if (!this.#awaited.delete(kind)) return
    this.#objects.set(kind, new Map())
    for (const object of objects) this.change(kind, object, nowMs)
  }

  /** Counts an added or changed object. Returns true if the quota must be reconciled. */
  change(kind: CountedKind, object: Stored, nowMs: number): boolean {
    if (!this.#objects.has(kind)) return false
    const key = keyOf(object)
    const isSooner = this.#timed.set(kind, object, nowMs)
    return this.#enter(kind, key, this.#usage(kind, object, nowMs)) || isSooner
  }

  remove(kind: CountedKind, key: string): boolean {
    this.#timed.delete(kind, key)
    return this.#enter(kind, key, nothing)
  }

  /** Re-evaluates objects that are due. */
  expire(nowMs: number): void {
    for (let due = this.#timed.takeDue(nowMs); due !== undefined; due = this.#timed.takeDue(nowMs)) {
      this.#enter(due.kind, due.key, this.#usage(due.kind, due.object, nowMs))
    }
  }

  /** Called after this much released usage has been subtracted from the quota's status. */
  confirmReleased(released: Amounts): void {
    for (const [name, amount] of released) {
      const left = subtractQuantities(this.#released.get(name) ?? zeroQuantity, amount)
      if (isZeroQuantity(left)) this.#released.delete(name)
      else this.#released.set(name, left)
    }
  }

  /** Discards released usage after a write with unknown outcome, so that it is not subtracted twice. */
  discardReleased(): void {
    this.#released = new Map()
  }

  #usage({ evaluator }: CountedKind, object: KubernetesObject, nowMs: number): Amounts {
    if (!isInAllScopes(evaluator, object, this.#scopes)) return nothing
    const usage = new Map<string, Quantity>()
    for (const [name, amount] of evaluator.usage(object, nowMs)) {
      if (this.#sums.has(name) && !isZeroQuantity(amount)) usage.set(name, amount)
    }
    return usage
  }

  #enter(kind: CountedKind, key: string, now: Amounts): boolean {
    const objects = this.#objects.get(kind)
    const before = objects?.get(key) ?? nothing
    if (objects === undefined || equalAmounts(before, now)) return false
    if (now.size === 0) objects.delete(key)
    else objects.set(key, now)
    for (const [name, amount] of now) this.#add(name, amount, before.get(name) ?? zeroQuantity)
    for (const [name, amount] of before) if (!now.has(name)) this.#add(name, zeroQuantity, amount)
    return true
  }

  #add(name: string, now: Quantity, before: Quantity): void {
    const sum = addQuantities(subtractQuantities(this.#sums.get(name) ?? zeroQuantity, before), now)
    // A zero sum drops its format; the next amount determines it.
    this.#sums.set(name, isZeroQuantity(sum) ? zeroQuantity : sum)
    if (compareQuantities(now, before) >= 0) return
    const less = subtractQuantities(before, now)
    this.#released.set(name, addQuantities(this.#released.get(name) ?? zeroQuantity, less))
  }
}

const nothing: Amounts = new Map()

interface TimedObject {
  readonly kind: CountedKind
  readonly key: string
  readonly object: KubernetesObject
  readonly dueMs: number
}

/**
 * Objects being deleted gracefully. They stop counting after their grace period has passed, since their node
 * may be lost.
 */
class TimedObjects {
  readonly #heap = new Heap<TimedObject>((left, right) => left.dueMs - right.dueMs)
  readonly #entries = new Map<string, HeapEntry<TimedObject>>()

  get nextMs(): number {
    return this.#heap.peek()?.dueMs ?? Infinity
  }

  /** Returns true if the object is due before all others. */
  set(kind: CountedKind, object: Stored, nowMs: number): boolean {
    const key = keyOf(object)
    const before = this.nextMs
    this.delete(kind, key)
    const dueMs = overdueAtMs(object)
    if (dueMs === undefined || dueMs <= nowMs) return false
    this.#entries.set(`${kind.name}/${key}`, this.#heap.push({ kind, key, object, dueMs }))
    return dueMs < before
  }

  delete(kind: CountedKind, key: string): void {
    const id = `${kind.name}/${key}`
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#heap.remove(entry)
    this.#entries.delete(id)
  }

  takeDue(nowMs: number): TimedObject | undefined {
    const due = this.#heap.peek()
    if (due === undefined || due.dueMs > nowMs) return undefined
    this.delete(due.kind, due.key)
    return due
  }
}

function overdueAtMs({ metadata }: KubernetesObject): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return undefined
  const deletedMs = parseTime(deletionTimestamp)
  return deletedMs === undefined ? undefined : deletedMs + Number(deletionGracePeriodSeconds) * 1_000 + 1
}
