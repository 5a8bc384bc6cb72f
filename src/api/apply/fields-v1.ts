/**
 * Encodes and decodes field sets in the `fieldsV1` format of `metadata.managedFields`: every key is a path
 * element and every value the level below it; `.` marks a path that is in the set together with some of its
 * descendants. Equal levels are interned: the pods of a Deployment, and the versions of each pod, have
 * managed fields that are mostly the same. Printed levels are immutable, so their parsed form is cached by
 * reference.
 */
import type { JsonValue } from '../text/json-value.ts'
import { emptySet, FieldSetBuilder, isEmpty, type FieldNode, type FieldSet } from './field-set.ts'
import { FieldPathError, parseElement, sortElements, type PathElement } from './path-element.ts'
import { asMap, depthMax, type JsonObject } from './structure.ts'

/** Printed field sets and interned levels, whose parsed form is cached. */
const cacheable = new WeakSet<JsonObject>()
const parsed = new WeakMap<JsonObject, FieldNode>()
const printed = new WeakMap<FieldSet, JsonObject>()

/** Throws FieldPathError if the value is not a valid field set. */
export function parseFields(fields: JsonValue): FieldSet {
  const tree = asMap(fields)
  if (tree === undefined) throw new FieldPathError('fieldsV1 must be an object')
  return parseLevel(tree, 1).children
}

export function printFields(set: FieldSet): JsonObject {
  const known = printed.get(set)
  if (known !== undefined) return known
  const { tree } = printLevel(set, false)
  printed.set(set, tree)
  cacheable.add(tree)
  return tree
}

/** A level without children is a member even without `.`. */
function parseLevel(tree: JsonObject, depth: number): FieldNode {
  const known = parsed.get(tree)
  if (known !== undefined) return known
  if (depth > depthMax) throw new FieldPathError(`fieldsV1 is nested more than ${depthMax} levels deep`)
  const builder = new FieldSetBuilder()
  let marked = false
  for (const [key, value] of Object.entries(tree)) {
    if (key === '.') {
      marked = true
      continue
    }
    const element = parseElement(key)
    if (element === undefined) continue
    const node = parseNode(value, key, depth)
    builder.add(element, node.member, node.children)
  }
  const children = builder.build()
  const node = { member: marked || isEmpty(children), children }
  if (cacheable.has(tree)) {
    parsed.set(tree, node)
    if (!marked) printed.set(children, tree)
  }
  return node
}

function parseNode(value: JsonValue, key: PathElement, depth: number): FieldNode {
  if (value === null) return { member: true, children: emptySet }
  const tree = asMap(value)
  if (tree === undefined) throw new FieldPathError(`expected an object below ${JSON.stringify(key)}`)
  return parseLevel(tree, depth + 1)
}

interface PrintedLevel {
  readonly tree: JsonObject
  /** Of the elements and the levels below them. */
  readonly hash: number
  /** Equal levels are the same object. */
  readonly isInterned: boolean
}

const nothing = Object.freeze({})
cacheable.add(nothing)

const leaf: PrintedLevel = { tree: nothing, hash: 0, isInterned: true }

/** Every key has a colon or is a dot, so none of them can be `__proto__`. */
function printLevel(set: FieldSet, isMarked: boolean): PrintedLevel {
  const tree: JsonObject = isMarked ? { '.': nothing } : {}
  let hash = isMarked ? 1 : 0
  let characters = 0
  let isShareable = true
  for (const element of sortElements(set.nodes.keys())) {
    const node = set.nodes.get(element)
    if (node === undefined) continue
    const level = isEmpty(node.children) ? leaf : printLevel(node.children, node.member)
    tree[element] = level.tree
    characters += element.length
    isShareable &&= level.isInterned && characters <= internedCharactersMax
    if (isShareable) hash = hashOf(element, Math.imul(hash ^ level.hash, hashFactor))
  }
  return isShareable ? intern(tree, hash) : { tree, hash, isInterned: false }
}

/** Maximum number of interned levels; beyond it all are released. */
const internedMax = 5_000
/** Levels with more characters are not interned: they are rarely shared and would take much memory. */
const internedCharactersMax = 2_000
const interned = new Map<number, PrintedLevel>()

/**
 * The hashes of levels that were seen, each at the index of its last bits. A level is interned when it is seen
 * again: many occur in one object only, such as those with the items of a set.
 */
const sightings = new Int32Array(2 ** 13)

/**
 * The equal level that was interned earlier, if there is one. The levels in `tree` are interned, so that its
 * members are compared by reference.
 */
function intern(tree: JsonObject, hash: number): PrintedLevel {
  const known = interned.get(hash)
  if (known !== undefined && hasSameMembers(known.tree, tree)) return known
  const slot = hash & (sightings.length - 1)
  if (sightings[slot] !== hash) {
    sightings[slot] = hash
    return { tree, hash, isInterned: false }
  }
  const level = { tree, hash, isInterned: true }
  if (interned.size >= internedMax) interned.clear()
  interned.set(hash, level)
  cacheable.add(tree)
  return level
}

function hasSameMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key])
}

/** FNV-1a, continued from the hash of what precedes the text. */
function hashOf(text: string, start: number): number {
  let hash = start
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), hashFactor)
  }
  return hash
}

const hashFactor = 16_777_619
