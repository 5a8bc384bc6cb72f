/** Estimates of parts of an expression: costs, and sizes of values and of their elements. */
import { exactly, union, type Estimate } from '../estimate.ts'
import { countCharacters } from '../standard/text.ts'
import type { Type } from '../type.ts'
import type { Value } from '../value.ts'
import { stepInto, type Path } from './path.ts'

/** Estimates of an expression. */
export interface Estimated {
  readonly cost: Estimate
  /** Undefined if nothing limits it. The result depends on when it is called: see `stepInto`. */
  readonly size: () => Estimate | undefined
  readonly entries?: EntrySizes | undefined
  readonly path?: Path | undefined
}

/** Sizes of the keys or indexes and of the values of a list or map that the expression creates. */
interface EntrySizes {
  readonly kind: 'list' | 'map'
  readonly key: Estimate
  readonly value: Estimate
}

/** A variable of a comprehension or binding. */
export interface Variable {
  readonly name: string
  readonly path?: Path | undefined
  readonly size?: Estimate | undefined
  readonly entries?: EntrySizes | undefined
  /** Set if Kubernetes repeats the expression instead of binding it. */
  readonly repeated?: Estimated
}

export interface CostAndSize {
  readonly cost: Estimate
  readonly size: Estimate
}

/** One variable takes the elements of a list or the keys of a map. */
export function iterationVariables(
  { path, entries }: Estimated,
  type: Type,
  [first = '', second]: readonly string[],
): Variable[] {
  const isList = (entries?.kind ?? type.kind) === 'list'
  const keyOf = (name: string) => {
    return { name, path: stepInto(path, isList ? '@indices' : '@keys'), size: entries?.key }
  }
  const valueOf = (name: string) => {
    return { name, path: stepInto(path, isList ? '@items' : '@values'), size: entries?.value }
  }
  if (second !== undefined) return [keyOf(first), valueOf(second)]
  return [isList ? valueOf(first) : keyOf(first)]
}

export function joinEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  if (a === undefined || b === undefined) return undefined
  return { kind: a.kind, key: union(a.key, b.key), value: union(a.value, b.value) }
}

export function literalSize(value: Value): Estimate {
  if (typeof value === 'string') return exactly(countCharacters(value))
  return exactly(value instanceof Uint8Array ? value.length : 1)
}

const scalars: ReadonlySet<Type['kind']> = new Set([
  'bool',
  'double',
  'duration',
  'int',
  'timestamp',
  'uint',
] as const)

export function isScalar(type: Type): boolean {
  return type.kind === 'optional' ? isScalar(type.value) : scalars.has(type.kind)
}
