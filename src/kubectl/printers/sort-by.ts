import type { JsonValue } from '#/api/text/json-value.ts'
import { compareQuantities, tryParseQuantity } from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import { compareText, GoNumber, isFloat, isNumber, typeOf, type GoValue } from './go-format.ts'
import { parseJsonPathTemplate } from './json-path-template.ts'

export interface SortOptions<T> {
  /** A JSONPath template; of its matches only the first counts. */
  readonly path: string
  readonly objectOf: (item: T) => JsonValue
  /** The Go type that holds the objects, for messages. */
  readonly holder: '*unstructured.Unstructured' | '[][][]reflect.Value'
}

/**
 * The items in the order of `--sort-by`. Items without a value come first, in reverse order. Strings that are all
 * quantities are compared as such. Throws an error if no item has a value, and JsonPathError.
 */
export function sortBy<T>(items: readonly T[], options: SortOptions<T>): readonly T[] {
  const { path, objectOf, holder } = options
  const template = parseJsonPathTemplate(path, { allowMissingKeys: true })
  const keyed = items.map(item => {
    const [key] = template.matches(objectOf(item))
    return { item, key }
  })
  const withKey = keyed.filter(({ key }) => key !== undefined)
  if (items.length > 0 && withKey.length === 0) {
    throw new Error(`couldn't find any field with path ${quote(path)} in the list of objects`)
  }
  const compare = (a: GoValue, b: GoValue) => {
    const order = compareKeys(a, b)
    if (typeof order === 'number') return order
    throw new Error(`Field ${path} in ${holder} is an unsortable type: interface, err: ${order}`)
  }
  const missing = keyed.filter(({ key }) => key === undefined).reverse()
  return [...missing, ...withKey.sort((a, b) => compare(a.key, b.key))].map(({ item }) => item)
}

/** Returns an error if the values have no order. */
function compareKeys(a: GoValue, b: GoValue): number | string {
  if (a === null || b === null) return Number(b === null) - Number(a === null)
  if (isNumber(a)) {
    return isNumber(b) && isFloat(a) === isFloat(b) ? compareNumbers(a, b) : 'unsortable interface: interface'
  }
  if (typeof a !== 'string') return `unsortable type: ${typeOf(a)}`
  if (typeof b !== 'string') return 'unsortable interface: interface'
  const left = tryParseQuantity(a)
  const right = left && tryParseQuantity(b)
  return left && right ? compareQuantities(left, right) : compareText(a, b)
}

function compareNumbers(a: number | bigint | GoNumber, b: number | bigint | GoNumber): number {
  const left = a instanceof GoNumber ? a.value : a
  const right = b instanceof GoNumber ? b.value : b
  return left < right ? -1 : left > right ? 1 : 0
}
