/**
 * How functions, methods and macros are declared. A library is a value: a list of overloads, made with
 * `globalFunction` and `method`, plus the macros and types that belong to them. See `library/` for examples:
 *
 *     export const listLibrary: Library = {
 *       overloads: [
 *         method('isSorted', [listOf(parameter('T'))], boolType, isSorted, { cost: sizeCost }),
 *         globalFunction('isQuantity', [stringType], boolType, text => ...),
 *       ],
 *     }
 *
 * An implementation gets arguments whose run-time types were checked (of lists and maps only that they are
 * that) and throws a `Fault` when it cannot go on. The cost is charged before the call, so it bounds the work.
 */
import type { Call, Expression } from './syntax.ts'
import type { ObjectType, Type, Typed } from './type.ts'
import type { Value } from './value.ts'

export interface Library {
  readonly overloads?: readonly Overload[]
  readonly macros?: readonly Macro[]
  /** Types that expressions can name, `type(x) == net.IP`. */
  readonly types?: readonly Type[]
  /** Types that expressions can construct, `JSONPatch{op: "add"}`. */
  readonly constructors?: Constructors
}

export interface Constructors {
  /** The type of a name with dots, `Object.spec`; undefined when it cannot be constructed. */
  find(name: string): ConstructedType | undefined
}

export interface ConstructedType {
  readonly type: ObjectType
  /** Makes a value of the fields that were given, whose types were checked. */
  construct(fields: ReadonlyMap<string, Value>): Value
}

export interface Overload {
  /** With dots for a namespace, `cidr.isCIDR`, where it is no method. */
  readonly name: string
  /** Whether it is called on its first argument, `'a'.size()`. */
  readonly receiver: boolean
  /** The receiver comes first. */
  readonly parameters: readonly Type[]
  readonly result: Type
  readonly call: Implementation
  readonly cost: Cost
}

export type Implementation = (...values: readonly Value[]) => Value
/** What a call costs beside its arguments; at least 1 is usual. Fractions are rounded up. */
export type Cost = (...values: readonly Value[]) => number

export interface OverloadOptions<Parameters extends readonly Value[]> {
  /** 1 when absent. */
  readonly cost?: (...values: Parameters) => number
}

type TypesOf<Parameters extends readonly Value[]> = {
  readonly [Index in keyof Parameters]: Typed<Parameters[Index]>
}

/** `name(a, b)`. */
export function globalFunction<const Parameters extends readonly Value[]>(
  name: string,
  parameters: TypesOf<Parameters>,
  result: Type,
  call: NoInfer<(...values: Parameters) => Value>,
  options: NoInfer<OverloadOptions<Parameters>> = {},
): Overload {
  return declare({ name, receiver: false, parameters, result }, call, options)
}

/** `a.name(b)`, where the type of `a` is the first parameter. */
export function method<const Parameters extends readonly Value[]>(
  name: string,
  parameters: TypesOf<Parameters>,
  result: Type,
  call: NoInfer<(...values: Parameters) => Value>,
  options: NoInfer<OverloadOptions<Parameters>> = {},
): Overload {
  return declare({ name, receiver: true, parameters, result }, call, options)
}

/** Rewrites a call before anything is checked: `has(a.b)`, `list.all(x, x > 0)`. */
export interface Macro {
  readonly name: string
  readonly receiver: boolean
  /** Arguments beside the receiver. */
  readonly argumentCount: number
  /** Undefined leaves the call as it is; a complaint about the arguments is a `MacroError`. */
  expand(call: Call): Expression | undefined
}

/** A macro was given arguments that it cannot take, at an offset of the source. */
export class MacroError extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.name = 'MacroError'
    this.offset = offset
  }
}

const one = (): number => 1

/** The evaluator checks run-time types against the parameters, so here they may be forgotten. */
function declare<Parameters extends readonly Value[]>(
  head: Pick<Overload, 'name' | 'receiver' | 'parameters' | 'result'>,
  call: (...values: Parameters) => Value,
  { cost }: OverloadOptions<Parameters>,
): Overload {
  return {
    ...head,
    call: call as unknown as Implementation,
    cost: (cost as unknown as Cost | undefined) ?? one,
  }
}
