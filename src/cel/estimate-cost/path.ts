/** The part of a variable that an expression refers to, for its declared maximum size. */
import type { DeclaredSize, Estimate, SizeOf } from '../estimate.ts'

/**
 * The name of a variable and steps into it. `@items` and `@values` are the elements of lists and maps, `@keys` the
 * keys of maps; others are fields. Several paths may share their steps.
 */
export interface Path {
  readonly steps: string[]
  readonly length: number
}

/**
 * The path of a part of a value. A computed value has no path: the step out of it then stands where the name of
 * a variable would, so that `sizeOf` decides on its size.
 *
 * In Kubernetes a path grows in place while its memory, of a power of two steps, has room. A second step out of
 * the same value then overwrites the first one, in all paths that contain it: after `x.ports.all(p, x.name != '')`
 * the size of `x.ports` may be looked up as that of `x.name`. Estimates depend on it, so it is the same here.
 */
export function stepInto(path: Path | undefined, step: string): Path {
  if (path === undefined) return { steps: [step], length: 1 }
  const { steps, length } = path
  const hasRoom = (length & (length - 1)) !== 0
  const grown = hasRoom ? steps : steps.slice(0, length)
  grown[length] = step
  return { steps: grown, length: length + 1 }
}

/** The declared size at the end of the path and of further steps. */
export function sizeAt(
  path: Path | undefined,
  sizeOf: SizeOf,
  ...further: readonly string[]
): Estimate | undefined {
  if (path === undefined) return undefined
  const [variable = '', ...steps] = [...path.steps.slice(0, path.length), ...further]
  let size = sizeOf(variable)
  for (const step of steps) size = size && partOf(size, step)
  return size && { min: 0n, max: size.maxElements }
}

function partOf(size: DeclaredSize, step: string): DeclaredSize | undefined {
  if (step === '@items' || step === '@values') return size.elements
  return step === '@keys' ? size.keys : size.field?.(step)
}
