/** Set functions on lists: `sets.contains([1, 2, 3], [2, 3])`. */
import { equals } from '../equality.ts'
import { globalFunction, type Library } from '../function.ts'
import { boolType, listOf, parameter } from '../type.ts'
import type { ListValue, Value } from '../value.ts'

const pair = [listOf(parameter('T')), listOf(parameter('T'))] as const

/** Every element of one is compared with every element of the other. */
const productCost = (a: ListValue, b: ListValue): number => 1 + a.size * b.size

export const setLibrary: Library = {
  overloads: [
    globalFunction('sets.contains', pair, boolType, containsAll, { cost: productCost }),
    globalFunction('sets.equivalent', pair, boolType, (a, b) => containsAll(a, b) && containsAll(b, a), {
      cost: (a, b) => 1 + 2 * a.size * b.size,
    }),
    globalFunction('sets.intersects', pair, boolType, (a, b) => [...a].some(each => hasElement(b, each)), {
      cost: productCost,
    }),
  ],
}

function containsAll(container: ListValue, elements: ListValue): boolean {
  for (const element of elements) if (!hasElement(container, element)) return false
  return true
}

function hasElement(container: ListValue, element: Value): boolean {
  for (const each of container) if (equals(each, element)) return true
  return false
}
