import type { JsonValue } from '../text/json-value.ts'
import { get, isObject, put, type JsonObject } from '../text/json-object.ts'

/** The reference tokens of a parsed JSON pointer. */
export type Path = readonly string[]

/**
 * A document being patched, copy-on-write. A container of the input is copied when it is first modified and
 * the copy is then modified in place, so that ten thousand appends to one list copy it once.
 */
export class DocumentDraft {
  #root: JsonValue
  /**
   * Containers created here that are referenced only once in the document, so they may be modified in place.
   */
  readonly #owned = new Set<Container>()

  constructor(root: JsonValue) {
    this.#root = root
  }

  get root(): JsonValue {
    return this.#root
  }

  /** The value at a path; `undefined` if there is none. */
  read(path: Path): JsonValue | undefined {
    let value: JsonValue | undefined = this.#root
    for (const name of path) value = child(value, name)
    return value
  }

  /**
   * Sets a member of an object, or inserts into a list before an index or at its end; false if that is
   * impossible.
   */
  add(path: Path, value: JsonValue): boolean {
    const name = path.at(-1)
    if (name === undefined) return this.#replaceRoot(value)
    const parent = this.#parent(path)
    if (parent === undefined) return false
    if (!Array.isArray(parent)) put(parent, name, value)
    else if (name === '-') parent.push(value)
    else {
      const index = indexIn(parent.length + 1, name)
      if (index === undefined) return false
      parent.splice(index, 0, value)
    }
    return true
  }

  /** Like `add`, but replaces an existing list item; false if there is no such item. */
  replace(path: Path, value: JsonValue): boolean {
    const name = path.at(-1)
    if (name === undefined) return this.#replaceRoot(value)
    const parent = this.#parent(path)
    if (parent === undefined) return false
    return set(parent, name, value)
  }

  /** Removes the value at a path; false if there is none. */
  remove(path: Path): boolean {
    const name = path.at(-1)
    const parent = this.#parent(path)
    if (name === undefined || parent === undefined) return false
    if (!Array.isArray(parent)) return Object.hasOwn(parent, name) && Reflect.deleteProperty(parent, name)
    const index = indexIn(parent.length, name)
    if (index === undefined) return false
    parent.splice(index, 1)
    return true
  }

  /**
   * Prepares a value of the document for being referenced a second time, and returns its size in JSON
   * characters; counting stops shortly after the limit.
   */
  share(value: JsonValue, sizeMax: number): number {
    let size = 0
    const pending: JsonValue[] = [value]
    for (let next = pending.pop(); next !== undefined && size <= sizeMax; next = pending.pop()) {
      size += ownSize(next)
      if (!isContainer(next)) continue
      this.#owned.delete(next)
      for (const each of Object.values<JsonValue>(next)) pending.push(each)
    }
    return size
  }

  #replaceRoot(value: JsonValue): true {
    this.#root = value
    return true
  }

  /** The container of the last path element. It and all its ancestors are made modifiable. */
  #parent(path: Path): Container | undefined {
    if (!isContainer(this.#root)) return undefined
    let here = this.#own(this.#root)
    this.#root = here
    for (let level = 0; level < path.length - 1; level++) {
      const name = path[level] ?? ''
      const next = child(here, name)
      if (!isContainer(next)) return undefined
      const ours = this.#own(next)
      if (ours !== next) set(here, name, ours)
      here = ours
    }
    return here
  }

  #own(container: Container): Container {
    if (this.#owned.has(container)) return container
    const copy = Array.isArray(container) ? [...container] : { ...container }
    this.#owned.add(copy)
    return copy
  }
}

type Container = JsonValue[] | JsonObject

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === 'object' && value !== null
}

function child(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (isObject(value)) return get(value, name)
  if (!Array.isArray(value)) return undefined
  const index = indexIn(value.length, name)
  return index === undefined ? undefined : value[index]
}

function set(parent: Container, name: string, value: JsonValue): boolean {
  if (!Array.isArray(parent)) {
    put(parent, name, value)
    return true
  }
  const index = indexIn(parent.length, name)
  if (index === undefined) return false
  parent[index] = value
  return true
}

/** An index below the length. As in Kubernetes, and unlike the RFC, negative indexes count from the end. */
function indexIn(length: number, name: string): number | undefined {
  if (!/^(?:0|-?[1-9][0-9]*)$/.test(name)) return undefined
  const index = Number(name)
  const fromStart = index < 0 ? index + length : index
  return fromStart >= 0 && fromStart < length ? fromStart : undefined
}

/** Number of JSON characters of a value without its children. */
function ownSize(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2
  if (Array.isArray(value)) return value.length + 2
  if (isObject(value)) return Object.keys(value).reduce((size, key) => size + key.length + 4, 2)
  return String(value).length
}
