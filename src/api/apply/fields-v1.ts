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
  return printed.getOrInsertComputed(set, () => printLevel(set, false).tree)
}

/** A level and a text that only equal levels have. */
interface PrintedLevel {
  readonly tree: JsonObject
  readonly text: string
}

function share({ tree, text }: PrintedLevel): JsonObject {
  if (text.length > writtenCharactersMax) return tree
  const known = written.get(text)
  if (known !== undefined) return known
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
shared.add(nothing)

const leaf: PrintedLevel = { tree: nothing, text: '{}' }

/** Every key has a colon or is a dot, so none of them can be `__proto__`. */
function printLevel(set: FieldSet, isMarked: boolean): PrintedLevel {
  const tree: JsonObject = isMarked ? { '.': nothing } : {}
  let text = isMarked ? '{.' : '{'
  for (const element of sortElements(set.nodes.keys())) {
    const node = set.nodes.get(element)
    if (node === undefined) continue
    const hasChildren = !isEmpty(node.children)
    const level = hasChildren ? printLevel(node.children, node.member) : leaf
    tree[element] = level.tree
    // The length separates the element, which may contain any character, from what follows.
    text += `${element.length}:${element}${level.text}`
  }
  text += '}'
  return { tree: share({ tree, text }), text }
}
