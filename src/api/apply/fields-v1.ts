/**
 * Encodes and decodes field sets in the `fieldsV1` format of `metadata.managedFields`: every key is a path
 * element and every value the level below it; `.` marks a path that is in the set together with some of its
 * descendants. Equal levels are interned: the pods of a Deployment, and the versions of each pod, have
 * managed fields that are mostly the same. Interned levels are immutable, so their parsed form is cached by
 * reference.
 */
import type { JsonValue } from '../text/json-value.ts'
import { emptySet, FieldSetBuilder, isEmpty, type FieldNode, type FieldSet } from './field-set.ts'
import { FieldPathError, parseElement, sortElements, type PathElement } from './path-element.ts'
import { asMap, depthMax, type JsonObject } from './structure.ts'

/** Maximum number of interned levels; beyond it the cache is cleared. */
const writtenMax = 5_000
/** Longer levels are not interned: they are rarely shared and would take much memory. */
const writtenCharactersMax = 4_000
const written = new Map<string, JsonObject>()

const shared = new WeakSet<JsonObject>()
const parsed = new WeakMap<JsonObject, FieldNode>()
const printed = new WeakMap<FieldSet, JsonObject>()

/** Throws FieldPathError if the value is not a valid field set. */
export function parseFields(fields: JsonValue): FieldSet {
  const tree = asMap(fields)
  if (tree === undefined) throw new FieldPathError('fieldsV1 must be an object')
  return parseLevel(tree, 1).children
}

export function printFields(set: FieldSet): JsonObject {
  return printed.getOrInsertComputed(set, () => printLevel(set, {}))
}

function share(tree: JsonObject): JsonObject {
  const text = JSON.stringify(tree)
  const known = written.get(text)
  if (known !== undefined) return known
  if (text.length > writtenCharactersMax) return tree
  if (written.size >= writtenMax) written.clear()
  written.set(text, tree)
  shared.add(tree)
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
  if (shared.has(tree)) {
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

const nothing = Object.freeze({})

/** Every key has a colon or is a dot, so none of them can be `__proto__`. */
function printLevel(set: FieldSet, tree: JsonObject): JsonObject {
  for (const element of sortElements(set.nodes.keys())) {
    const node = set.nodes.get(element)
    if (node === undefined) continue
    const marked = node.member && !isEmpty(node.children)
    tree[element] = printLevel(node.children, marked ? { '.': nothing } : {})
  }
  return share(tree)
}
