/**
 * The `fieldsV1` form of a field set, as `metadata.managedFields` carries it: an object in which every key is
 * a path element and every value what is below it; `.` marks a path that is in the set together with some of
 * its descendants. API objects never change, so what was read or written once is remembered by identity and
 * costs nothing again.
 */
import type { JsonValue } from '../json-value.ts'
import { emptySet, FieldSetBuilder, isEmpty, type FieldNode, type FieldSet } from './field-set.ts'
import { FieldPathError, parseElement, sortElements, type PathElement } from './path-element.ts'
import { asMap, depthMax, type JsonObject } from './structure.ts'

const parsed = new WeakMap<object, FieldSet>()
const printed = new WeakMap<FieldSet, JsonObject>()

/** Throws FieldPathError when the value is no field set. */
export function parseFields(fields: JsonValue): FieldSet {
  const tree = asMap(fields)
  if (tree === undefined) throw new FieldPathError('fieldsV1 must be an object')
  const known = parsed.get(tree)
  if (known !== undefined) return known
  const set = parseLevel(tree, 1).children
  parsed.set(tree, set)
  return set
}

export function printFields(set: FieldSet): JsonObject {
  const known = printed.get(set)
  if (known !== undefined) return known
  const tree = printLevel(set, {})
  printed.set(set, tree)
  parsed.set(tree, set)
  return tree
}

/** A level with nothing below it is a member even without the mark. */
function parseLevel(tree: JsonObject, depth: number): FieldNode {
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
  return { member: marked || isEmpty(children), children }
}

function parseNode(value: JsonValue, key: PathElement, depth: number): FieldNode {
  if (value === null) return { member: true, children: emptySet }
  const tree = asMap(value)
  if (tree === undefined) throw new FieldPathError(`expected an object below ${JSON.stringify(key)}`)
  return parseLevel(tree, depth + 1)
}

/** Every key has a colon or is a dot, so none of them can be `__proto__`. */
function printLevel(set: FieldSet, tree: JsonObject): JsonObject {
  for (const element of sortElements(set.nodes.keys())) {
    const node = set.nodes.get(element)
    if (node === undefined) continue
    const marked = node.member && !isEmpty(node.children)
    tree[element] = printLevel(node.children, marked ? { '.': {} } : {})
  }
  return tree
}
