/**
 * Copy-on-write helpers. All of them return the given object itself if nothing changes, so that callers can
 * compare by reference.
 */

/**
 * Sets fields that are absent, empty strings or zero, for fields in which the API does not distinguish these.
 * For other fields use `withMissing`.
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

/** Sets only fields that are absent. */
export function withMissing<T extends object>(object: T, defaults: Partial<T>): T {
  for (const key in defaults) if (object[key] === undefined) return { ...defaults, ...object }
  return object
}

/** Maps one field; an absent field stays absent. */
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

export function mapCopyOnWrite<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | undefined
  for (const [index, item] of list.entries()) {
    const next = change(item)
    if (next === item) continue
    changed ??= [...list]
    changed[index] = next
  }
  return changed ?? list
}

export function withoutField<T extends object, K extends keyof T>(object: T, key: K): Omit<T, K> | T {
  if (object[key] === undefined) return object
  const { [key]: _, ...rest } = object
  return rest
}
