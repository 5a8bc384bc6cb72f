/**
 * Objects with something added or changed that share everything else with those they come from. All of these
 * return the very object they were given when nothing changes, so that callers can tell.
 */

/**
 * The object with these fields where it has none. An empty text and a zero count as none, as they do in
 * fields of which the API cannot tell them apart; for the others it is `withMissing`.
 */
export function withDefaults<T extends object>(object: T, defaults: Partial<T>): T {
  let missing: Partial<T> | undefined
  for (const key in defaults) {
    const value: unknown = object[key]
    if (value !== undefined && value !== '' && value !== 0) continue
    missing ??= {}
    missing[key] = defaults[key]
  }
  return missing === undefined ? object : { ...object, ...missing }
}

/** The object with these fields where they are absent. */
export function withMissing<T extends object>(object: T, defaults: Partial<T>): T {
  for (const key in defaults) if (object[key] === undefined) return { ...defaults, ...object }
  return object
}

/** The object with one of its fields changed; an absent field stays absent. */
export function withField<T extends object, K extends keyof T>(
  object: T,
  key: K,
  change: (value: NonNullable<T[K]>) => T[K],
): T {
  const value = object[key]
  if (value === undefined || value === null) return object
  const changed = change(value)
  return changed === value ? object : { ...object, [key]: changed }
}

export function mapShared<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | undefined
  for (const [index, item] of list.entries()) {
    const next = change(item)
    if (next === item) continue
    changed ??= [...list]
    changed[index] = next
  }
  return changed ?? list
}

/** The object without a field. */
export function withoutField<T extends object, K extends keyof T>(object: T, key: K): Omit<T, K> | T {
  if (object[key] === undefined) return object
  const { [key]: _, ...rest } = object
  return rest
}
