/**
 * Lists and maps of bounded size: what does not fit is refused as a whole, and its items are not looked at.
 */
import { duplicate, tooMany, type FieldError } from '../../field-error.ts'

interface ListRules<T> {
  readonly itemsMax: number
  readonly validateItem: (field: string, item: T) => FieldError[]
}

interface SetRules<T> extends ListRules<T> {
  /** What tells items apart. */
  readonly keyOf: (item: T) => string
}

interface MapRules<T> {
  readonly validateKey: (field: string, key: string) => FieldError[]
  readonly validateValue: (field: string, value: T) => FieldError[]
}

export function validateList<T>(field: string, list: readonly T[] = [], rules: ListRules<T>): FieldError[] {
  const { itemsMax, validateItem } = rules
  if (list.length > itemsMax) return [tooMany(field, list.length, itemsMax)]
  return list.flatMap((item, index) => validateItem(`${field}[${index}]`, item))
}

/** A list in which no item comes twice. */
export function validateSet<T>(field: string, list: readonly T[] = [], rules: SetRules<T>): FieldError[] {
  const errors = validateList(field, list, rules)
  if (list.length > rules.itemsMax) return errors
  const seen = new Set<string>()
  for (const [index, item] of list.entries()) {
    const key = rules.keyOf(item)
    if (seen.has(key)) errors.push(duplicate(`${field}[${index}]`, key))
    seen.add(key)
  }
  return errors
}

/** A map, with errors of keys at the map and errors of values at their key. */
export function validateMap<T>(
  field: string,
  map: Readonly<Record<string, T>>,
  rules: MapRules<T>,
): FieldError[] {
  return Object.entries(map).flatMap(([key, value]) => [
    ...rules.validateKey(field, key),
    ...rules.validateValue(`${field}[${shortened(key)}]`, value),
  ])
}

/** Characters of a key that a path shows: more than any valid key has. */
const keyCharactersMax = 96

function shortened(key: string): string {
  if (key.length <= keyCharactersMax) return key
  const half = Math.floor((keyCharactersMax - 3) / 2)
  return `${key.slice(0, half + 1)}...${key.slice(-half)}`
}
