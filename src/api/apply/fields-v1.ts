/**
 * The `fieldsV1` form of a field set, as `metadata.managedFields` carries it: an object in which every key is
 * a path element and every value what is below it; `.` marks a path that is in the set together with some of
 * its descendants. What is written is shared, each level by itself: the pods of a Deployment, and the versions of each
 * of them, have owners of much the same fields, and equal levels are one and the same object. They never change, so
 * what stands for them as a set is remembered by identity.
 */
import type { JsonValue } from '../json-value.ts'
import { emptySet, FieldSetBuilder, isEmpty, type FieldNode, type FieldSet } from './field-set.ts'
import { FieldPathError, parseElement, sortElements, type PathElement } from './path-element.ts'
import { asMap, depthMax, type JsonObject } from './structure.ts'

/** Levels that were written, by their text. Past that all are forgotten. */
const writtenMax = 5_000
/** A longer one would keep much memory for little gain. */
const writtenCharactersMax = 4_000
const written = new Map<string, JsonObject>()

const shared = new WeakSet<JsonObject>()
const parsed = new WeakMap<JsonObject, FieldNode>()
const printed = new WeakMap<FieldSet, JsonObject>()

/** Throws FieldPathError when the value is no field set. */
export function parseFields(fields: JsonValue): FieldSet {
  const tree = asMap(fields)
  if (tree === undefined) throw new FieldPathError('fieldsV1 must be an object')
  return parseLevel(tree, 1).children
}

export function printFields(set: FieldSet): JsonObject {
  const known = printed.get(set)
  if (known !== undefined) return known
  const tree = printLevel(set, {})
  printed.set(set, tree)
  return tree
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

/** A level with nothing below it is a member even without the mark. */
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
