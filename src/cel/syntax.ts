/**
 * Syntax tree of an expression. Operators are calls of functions with the names that messages show, `_+_`,
 * `_?_:_`, `_[_]`. Macros are already expanded: to a presence test, a comprehension or a binding. The offset
 * of a node, in UTF-16 units, is the position for errors.
 */
import type { Value } from './value.ts'

export type Expression =
  | Literal
  | Identifier
  | Select
  | Call
  | ListExpression
  | MapExpression
  | StructExpression
  | Comprehension
  | Binding

export interface Literal {
  readonly kind: 'literal'
  readonly value: Value
  readonly offset: number
}

/** A name; one with a leading dot is resolved outside all comprehensions. */
export interface Identifier {
  readonly kind: 'identifier'
  readonly name: string
  readonly offset: number
}

export interface Select {
  readonly kind: 'select'
  readonly operand: Expression
  readonly field: string
  /** `value` is `a.b`, `optional` is `a.?b`, `test` is `has(a.b)`. */
  readonly mode: 'value' | 'optional' | 'test'
  readonly offset: number
}

export interface Call {
  readonly kind: 'call'
  readonly name: string
  /** For `target.name(...)`; the target may turn out to be a namespace. */
  readonly target?: Expression
  readonly parameters: readonly Expression[]
  readonly offset: number
}

export interface ListExpression {
  readonly kind: 'list'
  readonly elements: readonly ListElement[]
  readonly offset: number
}

/** An optional element, `[?x]`, is omitted if it has no value. */
export interface ListElement {
  readonly value: Expression
  readonly optional: boolean
}

export interface MapExpression {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
  readonly offset: number
}

export interface MapEntry {
  readonly key: Expression
  readonly value: Expression
  readonly optional: boolean
  readonly offset: number
}

/** `Object.spec{replicas: 3}`. */
export interface StructExpression {
  readonly kind: 'struct'
  readonly typeName: string
  readonly fields: readonly StructField[]
  readonly offset: number
}

export interface StructField {
  readonly name: string
  readonly value: Expression
  readonly optional: boolean
  readonly offset: number
}

export type ComprehensionOperator =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'

/**
 * Iteration over a list or map. With one variable it visits elements or keys, with two indexes or keys and
 * values.
 */
export interface Comprehension {
  readonly kind: 'comprehension'
  readonly operator: ComprehensionOperator
  readonly range: Expression
  readonly variables: readonly string[]
  /** Elements for which it is false are skipped. */
  readonly condition?: Expression
  readonly body: Expression
  readonly offset: number
}

/** `cel.bind(name, value, body)`. */
export interface Binding {
  readonly kind: 'binding'
  readonly name: string
  readonly value: Expression
  readonly body: Expression
  readonly offset: number
}

/** `a.b.c` if the expression consists only of names and dots. */
export function qualifiedName(expression: Expression): string | undefined {
  const names: string[] = []
  let node = expression
  while (node.kind === 'select') {
    if (node.mode !== 'value') return undefined
    names.push(node.field)
    node = node.operand
  }
  if (node.kind !== 'identifier') return undefined
  return [node.name, ...names.reverse()].join('.')
}

/** Depth of a tree, at most one more than `depthMax`. Uses an explicit stack. */
export function depthOf(expression: Expression, depthMax: number): number {
  let deepest = 0
  const pending: [Expression, number][] = [[expression, 1]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, depth] = next
    if (depth > depthMax) return depth
    deepest = Math.max(deepest, depth)
    for (const child of childrenOf(node)) pending.push([child, depth + 1])
  }
  return deepest
}

function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return []
    case 'select':
      return [node.operand]
    case 'call':
      return node.target === undefined ? node.parameters : [node.target, ...node.parameters]
    case 'list':
      return node.elements.map(element => element.value)
    case 'map':
      return node.entries.flatMap(entry => [entry.key, entry.value])
    case 'struct':
      return node.fields.map(field => field.value)
    case 'comprehension':
      return node.condition === undefined ? [node.range, node.body] : [node.range, node.condition, node.body]
    case 'binding':
      return [node.value, node.body]
  }
}
