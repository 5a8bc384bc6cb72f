/**
 * Sets of field paths, such as the fields a manager owns or a write changed. A set is an immutable tree in
 * which paths share prefixes. An operation returns its first argument itself if nothing changes, so that an
 * unchanged set is recognized by reference and need not be serialized again.
 */
import { sortElements, type Path, type PathElement } from './path-element.ts'

export interface FieldSet {
  /** Every node is a member or has a member below it: a set without nodes is empty. */
  readonly nodes: ReadonlyMap<PathElement, FieldNode>
}

export interface FieldNode {
  /** The path that ends here is in the set. Its descendants are in the set only if they are members too. */
  readonly member: boolean
  readonly children: FieldSet
}

export const emptySet: FieldSet = { nodes: new Map() }

/** Shared node for a member without descendants, the most common case. */
const leaf: FieldNode = { member: true, children: emptySet }

export function fieldSet(paths: Iterable<Path>): FieldSet {
  let set = emptySet
  for (const path of paths) set = insert(set, path)
  return set
}

/** Builds one level of a set. */
export class FieldSetBuilder {
  #nodes: Map<PathElement, FieldNode> | undefined

  /** Merges with nodes added earlier for the same element. */
  add(element: PathElement, member: boolean, children: FieldSet): void {
    if (!member && isEmpty(children)) return
    this.#nodes ??= new Map()
    const before = this.#nodes.get(element)
    const node = makeNode(member, children)
    this.#nodes.set(element, before === undefined ? node : uniteNodes(before, node))
  }

  build(): FieldSet {
    return this.#nodes === undefined ? emptySet : { nodes: this.#nodes }
  }
}

export function isEmpty(set: FieldSet): boolean {
  return set.nodes.size === 0
}

/** True if exactly this path is in the set. The empty path never is: an object as a whole has no owner. */
export function contains(set: FieldSet, path: Path): boolean {
  let member = false
  let here = set
  for (const element of path) {
    const node = here.nodes.get(element)
    if (node === undefined) return false
    member = node.member
    here = node.children
  }
  return member
}

export function equals(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  if (a.nodes.size !== b.nodes.size) return false
  for (const [element, left] of a.nodes) {
    const right = b.nodes.get(element)
    if (right === undefined || left.member !== right.member) return false
    if (!equals(left.children, right.children)) return false
  }
  return true
}

/** Number of paths in the set. */
export function size(set: FieldSet): number {
  let count = 0
  for (const node of set.nodes.values()) count += (node.member ? 1 : 0) + size(node.children)
  return count
}

/** Paths in Kubernetes' order: at each level the members first, then their descendants. */
export function* paths(set: FieldSet, prefix: Path = []): Generator<Path, void, undefined> {
  const elements = sortElements(set.nodes.keys())
  for (const element of elements) if (set.nodes.get(element)?.member === true) yield [...prefix, element]
  for (const element of elements) {
    const children = set.nodes.get(element)?.children ?? emptySet
    if (!isEmpty(children)) yield* paths(children, [...prefix, element])
  }
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a
  if (isEmpty(a)) return b
  let nodes: Map<PathElement, FieldNode> | undefined
  for (const [element, right] of b.nodes) {
    const left = a.nodes.get(element)
    const united = left === undefined ? right : uniteNodes(left, right)
    if (united === left) continue
    nodes ??= new Map(a.nodes)
    nodes.set(element, united)
  }
  return nodes === undefined ? a : { nodes }
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a
  const nodes = new Map<PathElement, FieldNode>()
  let same = true
  for (const [element, left] of a.nodes) {
    const right = b.nodes.get(element)
    const shared = right === undefined ? undefined : intersectNodes(left, right)
    if (shared !== left) same = false
    if (shared !== undefined) nodes.set(element, shared)
  }
  if (same) return a
  return nodes.size === 0 ? emptySet : { nodes }
}

/**
 * The paths of the first set that are not in the second. Descendants of a path in the second set are kept.
 */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, (left, right) => {
    return remainder(left, left.member && !right.member, difference(left.children, right.children))
  })
}

/** The paths of the first set that are neither in the second nor below one of its paths. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, (left, right) => {
    if (right.member) return undefined
    return remainder(left, left.member, recursiveDifference(left.children, right.children))
  })
}

/** The paths without descendants in the set. */
export function leaves(set: FieldSet): FieldSet {
  return transform(set, node => {
    return remainder(node, node.member && isEmpty(node.children), leaves(node.children))
  })
}

/** Maps each node of the first level; nodes mapped to undefined are removed. */
export function transform(
  set: FieldSet,
  replace: (node: FieldNode, element: PathElement) => FieldNode | undefined,
): FieldSet {
  let nodes: Map<PathElement, FieldNode> | undefined
  for (const [element, node] of set.nodes) {
    const replaced = replace(node, element)
    if (replaced === node) continue
    nodes ??= new Map(set.nodes)
    if (replaced === undefined) nodes.delete(element)
    else nodes.set(element, replaced)
  }
  if (nodes === undefined) return set
  return nodes.size === 0 ? emptySet : { nodes }
}

/**
 * The node with this membership and these children: the same node if unchanged, undefined if nothing is left.
 */
export function remainder(node: FieldNode, member: boolean, children: FieldSet): FieldNode | undefined {
  if (node.member === member && node.children === children) return node
  return member || !isEmpty(children) ? makeNode(member, children) : undefined
}

function insert(set: FieldSet, path: Path): FieldSet {
  const [element, ...rest] = path
  if (element === undefined) return set
  const builder = new FieldSetBuilder()
  builder.add(element, rest.length === 0, insert(emptySet, rest))
  return union(set, builder.build())
}

function makeNode(member: boolean, children: FieldSet): FieldNode {
  return member && isEmpty(children) ? leaf : { member, children }
}

function uniteNodes(left: FieldNode, right: FieldNode): FieldNode {
  const children = union(left.children, right.children)
  const member = left.member || right.member
  return left.member === member && left.children === children ? left : makeNode(member, children)
}

function intersectNodes(left: FieldNode, right: FieldNode): FieldNode | undefined {
  return remainder(left, left.member && right.member, intersection(left.children, right.children))
}

function subtract(
  a: FieldSet,
  b: FieldSet,
  without: (left: FieldNode, right: FieldNode) => FieldNode | undefined,
): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a
  let nodes: Map<PathElement, FieldNode> | undefined
  for (const [element, right] of b.nodes) {
    const left = a.nodes.get(element)
    if (left === undefined) continue
    const rest = without(left, right)
    if (rest === left) continue
    nodes ??= new Map(a.nodes)
    if (rest === undefined) nodes.delete(element)
    else nodes.set(element, rest)
  }
  if (nodes === undefined) return a
  return nodes.size === 0 ? emptySet : { nodes }
}
