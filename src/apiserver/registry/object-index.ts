/** Indexes of one resource's objects by labels and fields, so that a selective list costs as much as its matches. */
import type { KubernetesObject } from '#/api/metadata.ts'
import { prefixEnd } from '#/base/key-path.ts'
import { SortedMap } from '#/base/sorted-map.ts'
import type { StoredObject } from './stored-object.ts'

/** A label or a field of the objects of a resource. */
export interface IndexedField {
  /** Identifies it among the labels and fields of the resource. */
  readonly name: string
  readonly valueOf: (object: KubernetesObject) => string | undefined
}

export interface FieldValue extends IndexedField {
  readonly value: string
}

/** A condition that all selected objects fulfil. */
export interface FieldCondition extends IndexedField {
  /** Undefined if any value will do. */
  readonly values: readonly string[] | undefined
}

export interface IndexRange {
  /** Ends with a slash. */
  readonly prefix: string
  /** The range begins after this key. */
  readonly after?: string | undefined
}

/** The objects by the value of one field. The owner reports all changes. */
export class ObjectIndex {
  readonly #field: IndexedField
  readonly #byValue = new Map<string, SortedMap<StoredObject>>()
  /** Objects that cannot be decoded: part of every result, because reading them reports the error. */
  readonly #unreadable = new SortedMap<StoredObject>()
  #size = 0
  /** False while existing objects are being added. */
  isComplete = false

  constructor(field: IndexedField) {
    this.#field = field
  }

  /** Replaces `previous` by `current`, which have the same key. */
  change(previous: StoredObject | undefined, current: StoredObject | undefined): void {
    if (previous) this.#remove(previous)
    if (current === undefined) return
    const value = valueOf(current, this.#field)
    if (value === undefined) return
    const objects = value === unreadable ? this.#unreadable : this.#objectsOf(value)
    this.#size -= objects.size
    objects.set(current.key, current)
    this.#size += objects.size
  }

  /** Number of objects that `find` returns for all prefixes. */
  count(values: readonly string[] | undefined): number {
    if (values === undefined) return this.#size
    let count = this.#unreadable.size
    for (const objects of this.#chosen(values)) count += objects.size
    return count
  }

  /** In key order. */
  find(values: readonly string[] | undefined, range: IndexRange): readonly StoredObject[] {
    const lists = [...this.#chosen(values), this.#unreadable].map(objects => within(objects, range))
    const found = lists.filter(list => list.length > 0)
    if (found.length <= 1) return found[0] ?? []
    return found.flat().sort((left, right) => (left.key < right.key ? -1 : 1))
  }

  #chosen(values: readonly string[] | undefined): Iterable<SortedMap<StoredObject>> {
    if (values === undefined) return this.#byValue.values()
    return [...new Set(values)].flatMap(value => this.#byValue.get(value) ?? [])
  }

  #objectsOf(value: string): SortedMap<StoredObject> {
    return this.#byValue.getOrInsertComputed(value, () => new SortedMap<StoredObject>())
  }

  #remove(previous: StoredObject): void {
    const value = valueOf(previous, this.#field)
    if (value === undefined) return
    const objects = value === unreadable ? this.#unreadable : this.#byValue.get(value)
    if (objects?.delete(previous.key)) this.#size--
    if (value !== unreadable && objects?.size === 0) this.#byValue.delete(value)
  }
}

const unreadable = Symbol('unreadable')

function valueOf(stored: StoredObject, field: IndexedField): string | undefined | typeof unreadable {
  try {
    return field.valueOf(stored.peek())
  } catch {
    return unreadable
  }
}

function within(objects: SortedMap<StoredObject>, { prefix, after }: IndexRange): StoredObject[] {
  const end = prefixEnd(prefix)
  const found: StoredObject[] = []
  for (const stored of objects.valuesFrom(after === undefined ? prefix : `${after}\0`)) {
    if (stored.key >= end) break
    found.push(stored)
  }
  return found
}
