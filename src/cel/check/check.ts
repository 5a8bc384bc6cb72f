/**
 * Type-checks an expression against an environment: every name is declared and every call has a matching
 * overload. The result is kept beside the tree for the evaluator, so that nothing is looked up at run time.
 * Rules and messages are those of cel-go as configured by Kubernetes.
 */
import type { Issue } from '../cel-error.ts'
import type { Environment } from '../environment.ts'
import type { ConstructedType, Overload } from '../function.ts'
import {
  qualifiedName,
  type Binding,
  type Call,
  type Comprehension,
  type Expression,
  type ListExpression,
  type MapExpression,
  type Select,
  type StructExpression,
} from '../syntax.ts'
import {
  boolType,
  dynType,
  errorType,
  listOf,
  mapOf,
  objectOf,
  optionalOf,
  showType,
  type Type,
} from '../type.ts'
import type { TypeValue } from '../value.ts'
import { comprehensionResult, literalType, rangeTypes, validateLiteral } from './expression-types.ts'
import { OverloadFinder } from './overload-finder.ts'
import { Unifier } from './unifier.ts'

export interface Checked {
  readonly type: Type
  /** The type of an expression of the tree. */
  typeOf(expression: Expression): Type
  readonly issues: readonly Issue[]
  /** Resolution of identifiers and of selections that are qualified names. */
  readonly references: ReadonlyMap<Expression, Reference>
  readonly calls: ReadonlyMap<Call, ResolvedCall>
  readonly constructors: ReadonlyMap<StructExpression, ConstructedType>
  /** Frame slots of the variables of comprehensions and bindings. */
  readonly slots: ReadonlyMap<Expression, readonly number[]>
  /** The environment variables that are used, with their frame slots. */
  readonly variables: ReadonlyMap<string, number>
}

/** A slot in the evaluation frame, or a type. */
export type Reference = { readonly slot: number; readonly name: string } | { readonly value: TypeValue }

export interface ResolvedCall {
  /** Candidates in order; the run-time types decide. */
  readonly overloads: readonly Overload[]
  /** False if the target is a namespace and not an argument. */
  readonly hasTarget: boolean
}

export function check(expression: Expression, environment: Environment): Checked {
  return new Checker(environment).check(expression)
}

interface Scope {
  readonly names: ReadonlyMap<string, { readonly type: Type; readonly slot: number }>
  readonly parent: Scope | undefined
}

class Checker {
  readonly #environment: Environment
  readonly #unifier = new Unifier()
  readonly #finder: OverloadFinder
  readonly #issues: Issue[] = []
  readonly #types = new Map<Expression, Type>()
  readonly #references = new Map<Expression, Reference>()
  readonly #calls = new Map<Call, ResolvedCall>()
  readonly #constructors = new Map<StructExpression, ConstructedType>()
  readonly #slots = new Map<Expression, readonly number[]>()
  readonly #variables = new Map<string, number>()
  #scope: Scope | undefined
  #slotCount = 0
  /** Number of surrounding calls of `format`, in which elements of lists and maps may have different types. */
  #formatDepth = 0

  constructor(environment: Environment) {
    this.#environment = environment
    this.#finder = new OverloadFinder(this.#unifier)
  }

  check(expression: Expression): Checked {
    const type = this.#unifier.resolveFully(this.#check(expression))
    return {
      type,
      typeOf: part => this.#unifier.resolveFully(this.#types.get(part) ?? dynType),
      issues: this.#issues,
      references: this.#references,
      calls: this.#calls,
      constructors: this.#constructors,
      slots: this.#slots,
      variables: this.#variables,
    }
  }

  #check(expression: Expression): Type {
    const type = this.#checkNode(expression)
    this.#types.set(expression, type)
    return type
  }

  #checkNode(expression: Expression): Type {
    switch (expression.kind) {
      case 'literal':
        return literalType(expression.value)
      case 'identifier':
        return this.#identifier(expression)
      case 'select':
        return this.#select(expression)
      case 'call':
        return this.#call(expression)
      case 'list':
        return this.#list(expression)
      case 'map':
        return this.#map(expression)
      case 'struct':
        return this.#struct(expression)
      case 'comprehension':
        return this.#comprehension(expression)
      case 'binding':
        return this.#binding(expression)
    }
  }

  #identifier(expression: Expression & { kind: 'identifier' }): Type {
    return this.#resolve(expression, expression.name) ?? this.#undeclared(expression.name, expression.offset)
  }

  /** The type of a name, recording the expression as a reference; undefined if it is not declared. */
  #resolve(expression: Expression, name: string): Type | undefined {
    const local = name.startsWith('.') ? undefined : this.#findLocal(name)
    if (local !== undefined) {
      this.#references.set(expression, { slot: local.slot, name })
      return local.type
    }
    const global = name.startsWith('.') ? name.slice(1) : name
    const declared = this.#environment.findName(global)
    if (declared === undefined) return undefined
    if (declared.value !== undefined) this.#references.set(expression, { value: declared.value })
    else {
      const slot = this.#variables.getOrInsertComputed(global, () => this.#slotCount++)
      this.#references.set(expression, { slot, name: global })
    }
    return declared.type
  }

  #findLocal(name: string) {
    for (let scope = this.#scope; scope !== undefined; scope = scope.parent) {
      const found = scope.names.get(name)
      if (found !== undefined) return found
    }
    return undefined
  }

  #select(expression: Select): Type {
    const name = expression.mode === 'value' ? qualifiedName(expression) : undefined
    if (name !== undefined && this.#findLocal(name.slice(0, name.indexOf('.'))) === undefined) {
      const type = this.#resolve(expression, name)
      if (type !== undefined) return type
    }
    const operand = this.#unifier.resolve(this.#check(expression.operand))
    const target = operand.kind === 'optional' ? operand.value : operand
    const field = this.#field(expression, target)
    if (expression.mode === 'test') return boolType
    return operand.kind === 'optional' || expression.mode === 'optional' ? optionalOf(field) : field
  }

  #field({ field, offset }: Select, target: Type): Type {
    if (target.kind === 'map') return target.value
    if (target.kind === 'object') {
      return target.type.field(field) ?? this.#complain(offset, `undefined field '${field}'`)
    }
    if (target.kind === 'parameter') this.#unifier.assign(dynType, target)
    else if (target.kind !== 'dyn' && target.kind !== 'error') {
      this.#complain(offset, `type '${showType(target)}' does not support field selection`)
    }
    return dynType
  }

  #call(call: Call): Type {
    if (call.name !== 'format') return this.#checkCall(call)
    this.#formatDepth++
    const type = this.#checkCall(call)
    this.#formatDepth--
    return type
  }

  #checkCall(call: Call): Type {
    const parameters = call.parameters.map(parameter => this.#check(parameter))
    if (call.name === '_&&_' || call.name === '_||_') return this.#logical(call, parameters)
    const qualified = call.target === undefined ? call.name : this.#namespaced(call)
    if (qualified !== undefined) {
      const name = qualified.startsWith('.') ? qualified.slice(1) : qualified
      const overloads = this.#environment.findFunction(name)
      if (overloads === undefined) return this.#undeclared(call.name, call.offset)
      return this.#overload({ call, name, overloads, parameters, hasTarget: false })
    }
    const target = this.#check(call.target!)
    const overloads = this.#environment.findFunction(call.name)
    if (overloads === undefined) return this.#undeclared(call.name, call.offset)
    return this.#overload({
      call,
      name: call.name,
      overloads,
      parameters: [target, ...parameters],
      hasTarget: true,
    })
  }

  /** The qualified function name of a call with a target, if the target is a namespace. */
  #namespaced(call: Call): string | undefined {
    const prefix = qualifiedName(call.target!)
    if (prefix === undefined) return undefined
    const name = `${prefix}.${call.name}`
    return this.#environment.findFunction(name.startsWith('.') ? name.slice(1) : name) && name
  }

  #logical(call: Call, parameters: readonly Type[]): Type {
    for (const [index, type] of parameters.entries()) {
      if (!this.#unifier.assign(type, boolType)) {
        this.#mismatch(call.parameters[index]!.offset, boolType, type)
      }
    }
    return boolType
  }

  #overload({ call, name, overloads, parameters, hasTarget }: OverloadSearch): Type {
    const found = this.#finder.find(overloads, parameters, hasTarget)
    if (found === undefined) {
      const shown = parameters.map(type => showType(this.#unifier.resolveFully(type)))
      const target = hasTarget ? `${shown.shift()}.` : ''
      const signature = `${target}(${shown.join(', ')})`
      return this.#complain(call.offset, `found no matching overload for '${name}' applied to '${signature}'`)
    }
    this.#calls.set(call, { overloads: found.overloads, hasTarget })
    const problem = validateLiteral(call)
    if (problem !== undefined) this.#complain(problem.offset, problem.message)
    return found.type
  }

  #list({ elements }: ListExpression): Type {
    let type: Type | undefined
    for (const { value, optional } of elements) {
      const element = this.#check(value)
      type = this.#join(value, type, optional ? this.#unwrap(value, element) : element)
    }
    return listOf(type ?? this.#unifier.freshParameter())
  }

  #map({ entries }: MapExpression): Type {
    let keyType: Type | undefined
    let valueType: Type | undefined
    for (const { key, value, optional } of entries) {
      keyType = this.#join(key, keyType, this.#check(key))
      const type = this.#check(value)
      valueType = this.#join(value, valueType, optional ? this.#unwrap(value, type) : type)
    }
    const key = keyType ?? this.#unifier.freshParameter()
    return mapOf(isKeyLike(key) ? key : dynType, valueType ?? this.#unifier.freshParameter())
  }

  /** The type inside an optional, as required by `?`. */
  #unwrap(expression: Expression, type: Type): Type {
    const resolved = this.#unifier.resolve(type)
    if (resolved.kind === 'optional') return resolved.value
    if (resolved.kind !== 'dyn' && resolved.kind !== 'error') {
      this.#mismatch(expression.offset, optionalOf(resolved), resolved)
    }
    return resolved
  }

  #join(expression: Expression, before: Type | undefined, type: Type): Type {
    if (before === undefined) return type
    const joined = this.#finder.join(before, type)
    if (joined === undefined && this.#formatDepth > 0) return dynType
    return joined ?? this.#mismatch(expression.offset, before, type)
  }

  #struct(expression: StructExpression): Type {
    const constructed = this.#environment.findConstructor(expression.typeName)
    if (constructed === undefined) {
      for (const { value } of expression.fields) this.#check(value)
      return this.#undeclared(expression.typeName, expression.offset)
    }
    this.#constructors.set(expression, constructed)
    for (const { name, value, optional, offset } of expression.fields) {
      const type = this.#check(value)
      const given = optional ? this.#unwrap(value, type) : type
      const expected = constructed.type.field(name)
      if (expected === undefined) this.#complain(offset, `undefined field '${name}'`)
      else if (!this.#unifier.assign(expected, given)) {
        const shown = `'${showType(expected)}' but provided type is '${showType(given)}'`
        this.#complain(offset, `expected type of field '${name}' is ${shown}`)
      }
    }
    return objectOf(constructed.type)
  }

  #comprehension(expression: Comprehension): Type {
    const { range, variables, condition, body, operator } = expression
    const rangeType = this.#unifier.resolve(this.#check(range))
    if (rangeType.kind === 'parameter') this.#unifier.assign(dynType, rangeType)
    const types = rangeTypes(rangeType, variables.length)
    if (types === undefined) {
      const reason = 'cannot be range of a comprehension (must be list, map, or dynamic)'
      this.#complain(range.offset, `expression of type '${showType(rangeType)}' ${reason}`)
    }
    const names = variables.map((name, index) => [name, types?.[index] ?? errorType] as const)
    return this.#within(expression, names, () => {
      if (condition !== undefined) this.#expectBool(condition)
      const bodyType = operator === 'filter' ? this.#check(body) : this.#unifier.resolve(this.#check(body))
      const result = comprehensionResult(operator, bodyType, types?.[0] ?? errorType)
      if ('expected' in result) {
        if (this.#unifier.assign(bodyType, result.expected)) return result.type
        return this.#mismatch(body.offset, result.expected, bodyType)
      }
      return result.type
    })
  }

  #binding(expression: Binding): Type {
    const type = this.#unifier.resolve(this.#check(expression.value))
    return this.#within(expression, [[expression.name, type]], () => this.#check(expression.body))
  }

  #within(expression: Expression, names: readonly (readonly [string, Type])[], action: () => Type): Type {
    const declared = names.map(([name, type]) => [name, { type, slot: this.#slotCount++ }] as const)
    this.#slots.set(
      expression,
      declared.map(([, { slot }]) => slot),
    )
    this.#scope = { names: new Map(declared), parent: this.#scope }
    const type = action()
    this.#scope = this.#scope.parent
    return type
  }

  #expectBool(expression: Expression): void {
    const type = this.#check(expression)
    if (!this.#unifier.assign(type, boolType)) this.#mismatch(expression.offset, boolType, type)
  }

  #mismatch(offset: number, expected: Type, actual: Type): Type {
    const [wanted, found] = [expected, actual].map(type => showType(this.#unifier.resolveFully(type)))
    return this.#complain(offset, `expected type '${wanted}' but found '${found}'`)
  }

  #undeclared(name: string, offset: number): Type {
    return this.#complain(offset, `undeclared reference to '${name}' (in container '')`)
  }

  #complain(offset: number, message: string): Type {
    this.#issues.push({ offset, message })
    return errorType
  }
}

interface OverloadSearch {
  readonly call: Call
  readonly name: string
  readonly overloads: readonly Overload[]
  readonly parameters: readonly Type[]
  readonly hasTarget: boolean
}

/** Types allowed as map keys. Other keys would let a type double in size with every level. */
function isKeyLike({ kind }: Type): boolean {
  return ['dyn', 'error', 'parameter', 'bool', 'int', 'uint', 'string', 'double', 'null'].includes(kind)
}
