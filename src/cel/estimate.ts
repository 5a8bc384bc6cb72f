/**
 * Estimated sizes and costs: ranges of unsigned 64-bit integers that saturate at 2^64 - 1, and the formulas that
 * several functions share. Each overload declares its estimated cost beside its run-time cost (`function.ts`),
 * `estimate-cost.ts` adds them up for an expression.
 */
import { traversalFactor } from './cost.ts'
import type { Type } from './type.ts'
import type { Value } from './value.ts'

/** The least and the greatest possible size or cost. */
export interface Estimate {
  readonly min: bigint
  readonly max: bigint
}

/** An argument of a call, or the value that a method is called on. */
export interface Operand {
  readonly type: Type
  /** Estimated size; undefined if neither the expression nor a schema limits it. */
  readonly knownSize: Estimate | undefined
  /** `knownSize`, or `unknownSize`. */
  readonly size: Estimate
  /** Size of the elements of a list as far as a schema limits it; undefined if the type has no elements. */
  readonly elementSize: Estimate | undefined
  /** The value of a literal. */
  readonly literal?: Value
}

/** The maximum size of a variable and of its parts, as far as a schema declares it. */
export interface DeclaredSize {
  /** Characters, bytes, elements or entries; 0 for values that have no size. */
  readonly maxElements: bigint
  /** Keys of a map. */
  readonly keys?: DeclaredSize
  /** Elements of a list, values of a map. */
  readonly elements?: DeclaredSize | undefined
  /** A field by its escaped name. */
  field?(name: string): DeclaredSize | undefined
}

export type SizeOf = (variable: string) => DeclaredSize | undefined

/** An estimate of a call from its operands: of its cost without theirs, or of the size of its result. */
export type EstimateCall = (...operands: readonly Operand[]) => Estimate

export const uint64Max = 2n ** 64n - 1n
export const unknownSize: Estimate = { min: 0n, max: uint64Max }

/** Regular expressions count as one state per four characters. */
const patternFactor = 0.25

export function exactly(value: bigint | number): Estimate {
  const size = saturate(BigInt(value))
  return { min: size, max: size }
}

export function sum(...estimates: readonly Estimate[]): Estimate {
  return sumOf(estimates)
}

/** For lists of any length, which cannot be passed as arguments. */
export function sumOf(estimates: readonly Estimate[]): Estimate {
  let [min, max] = [0n, 0n]
  for (const estimate of estimates) {
    min += estimate.min
    max += estimate.max
  }
  return { min: saturate(min), max: saturate(max) }
}

export function product(a: Estimate, b: Estimate): Estimate {
  return { min: saturate(a.min * b.min), max: saturate(a.max * b.max) }
}

/** The smallest range that contains both. */
export function union(a: Estimate, b: Estimate): Estimate {
  return { min: a.min < b.min ? a.min : b.min, max: a.max > b.max ? a.max : b.max }
}

/** The smallest range that contains all; 0 if there are none. */
export function unionOf(estimates: readonly Estimate[]): Estimate {
  const [first = exactly(0)] = estimates
  return estimates.reduce(union, first)
}

/** Multiplies by a factor and rounds up. */
export function scale({ min, max }: Estimate, factor: number): Estimate {
  return { min: scaleOne(min, factor), max: scaleOne(max, factor) }
}

/** Drops the bits above 64. A few of Kubernetes' estimates wrap around instead of saturating. */
export function uint64(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}

export function saturate(value: bigint): bigint {
  return value > uint64Max ? uint64Max : value
}

/** Cost of reading the first operand once. */
export function estimateTraversal({ size }: Operand): Estimate {
  return scale(size, traversalFactor)
}

/** Cost of reading the first operand and creating a result of about the same size. */
export function estimateCopy({ size }: Operand): Estimate {
  return scale(size, 2 * traversalFactor)
}

/** Cost of searching the second operand in the first. */
export function estimateFind(text: Operand, part: Operand): Estimate {
  return product(scale(text.size, traversalFactor), scale(part.size, traversalFactor))
}

/** Cost of a regular expression. A pattern has a cost even on an empty text. */
export function estimateMatch(text: Operand, pattern: Operand): Estimate {
  const textCost = scale(sum(text.size, exactly(1)), traversalFactor)
  return product(textCost, scale(pattern.size, patternFactor))
}

/** Cost of comparing two values up to the end of the shorter one. */
export function estimateComparison(a: Operand, b: Operand): Estimate {
  const max = a.size.max < b.size.max ? a.size.max : b.size.max
  return scale({ min: max > 0n ? 1n : 0n, max }, traversalFactor)
}

/** The size of the first operand. */
export function sameSize({ size }: Operand): Estimate {
  return size
}

function scaleOne(value: bigint, factor: number): bigint {
  return saturate(BigInt(Math.ceil(Number(value) * factor)))
}
