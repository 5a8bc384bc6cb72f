/**
 * Declarations of functions, methods and macros. A library is a value: a list of overloads, made with
 * `globalFunction` and `method`, with the macros and types that belong to them. See `library/` for examples:
 *
 *     export const listLibrary: Library = {
 *       overloads: [
 *         method('isSorted', [listOf(parameter('T'))], boolType, isSorted, { cost: sizeCost }),
 *         globalFunction('isQuantity', [stringType], boolType, text => ...),
 *       ],
 *     }
 *
 * The run-time types of the arguments are checked before the call (not the elements of lists and maps). An
 * implementation throws a `Fault` on failure. The cost is charged before the call, so it bounds the work. The
 * estimated cost and size of the result are computed from the sizes of the arguments before anything is evaluated.
 */
import { exactly, type EstimateCall } from './estimate.ts'
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
  /** The type of a qualified name, `Object.spec`; undefined if it cannot be constructed. */
  find(name: string): ConstructedType | undefined
}

export interface ConstructedType {
  readonly type: ObjectType
  /** Creates a value from the given fields, with types already checked. */
  construct(fields: ReadonlyMap<string, Value>): Value
}

export interface Overload {
  /** Qualified with its namespace if it is not a method, `cidr.isCIDR`. */
  readonly name: string
  /** True for a method, called on its first argument: `'a'.size()`. */
  readonly receiver: boolean
  /** The receiver comes first. */
  readonly parameters: readonly Type[]
  readonly result: Type
  readonly call: Implementation
  readonly cost: Cost
  readonly estimatedCost: EstimateCall
  readonly resultSize: EstimateCall | undefined
}

export type Implementation = (...values: readonly Value[]) => Value
/** Cost of a call without its arguments, usually at least 1. Fractions are rounded up. */
export type Cost = (...values: readonly Value[]) => number

export interface OverloadOptions<Parameters extends readonly Value[]> {
  /** 1 when absent. */
  readonly cost?: (...values: Parameters) => number
  /** Kubernetes' estimate of the cost before the arguments are known; 1 when absent. */
  readonly estimatedCost?: EstimateCall
  /** Estimated size of a string, bytes, list or map; unknown when absent. */
  readonly resultSize?: EstimateCall
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

/** Rewrites a call before type checking: `has(a.b)`, `list.all(x, x > 0)`. */
export interface Macro {
  readonly name: string
  readonly receiver: boolean
  /** Number of arguments without the receiver. */
  readonly argumentCount: number
  /** Undefined leaves the call unchanged; invalid arguments throw `MacroError`. */
  expand(call: Call): Expression | undefined
}

/** Invalid arguments of a macro, at an offset of the source. */
export class MacroError extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.name = 'MacroError'
    this.offset = offset
  }
}

const one = (): number => 1
const estimatedOne = exactly(1)

/** The evaluator checks run-time types against the parameters, so the static types can be erased here. */
function declare<Parameters extends readonly Value[]>(
  head: Pick<Overload, 'name' | 'receiver' | 'parameters' | 'result'>,
  call: (...values: Parameters) => Value,
  { cost, estimatedCost = () => estimatedOne, resultSize }: OverloadOptions<Parameters>,
): Overload {
  return {
    ...head,
    call: call as unknown as Implementation,
    cost: (cost as unknown as Cost | undefined) ?? one,
    estimatedCost,
    resultSize,
  }
}
