/**
 * An expression as a tree. Operators are calls of functions with the names that messages show, `_+_`, `_?_:_`,
 * `_[_]`. Macros have become what they stand for: a test of presence, a comprehension or a binding. The
 * offset of a node is where in the source, in UTF-16 units, complaints about it point.
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

/** A name; one that starts with a dot is looked up outside of all comprehensions. */
export interface Identifier {
  readonly kind: 'identifier'
  readonly name: string
  readonly offset: number
}

export interface Select {
  readonly kind: 'select'
  readonly operand: Expression
  readonly field: string
  /** `value` selects, `optional` is `a.?b`, `test` is `has(a.b)`. */
  readonly mode: 'value' | 'optional' | 'test'
  readonly offset: number
}

export interface Call {
  readonly kind: 'call'
  readonly name: string
  /** Of `target.name(...)`, where the target may turn out to be a namespace. */
  readonly target?: Expression
  readonly parameters: readonly Expression[]
  readonly offset: number
}

export interface ListExpression {
  readonly kind: 'list'
  readonly elements: readonly ListElement[]
  readonly offset: number
}

/** An optional element, `[?x]`, is left out when it has no value. */
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

/** A loop over a list or a map. With one variable it runs over elements or keys, with two over keys and values. */
export interface Comprehension {
  readonly kind: 'comprehension'
  readonly operator: ComprehensionOperator
  readonly range: Expression
  readonly variables: readonly string[]
  /** Elements for which it is false are left out. */
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
