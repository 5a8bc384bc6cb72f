/** Validation of lists and maps of bounded size: if there are too many items, the items are not validated. */
import { duplicate, tooMany, type FieldError } from '../../field-error.ts'

interface ListRules<T> {
  readonly itemsMax: number
  readonly validateItem: (field: string, item: T) => FieldError[]
}

interface SetRules<T> extends ListRules<T> {
  /** The key by which items must be unique. */
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

/** A list with unique items. */
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

/** Errors of keys refer to the map, errors of values to the key. */
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

/** Maximum length of a key in an error path: more than any valid key has. */
const keyCharactersMax = 96

function shortened(key: string): string {
  if (key.length <= keyCharactersMax) return key
  const half = Math.floor((keyCharactersMax - 3) / 2)
  return `${key.slice(0, half + 1)}...${key.slice(-half)}`
}
