/**
 * A copy without members that are null. Servers encode absent lists and times so; a description shows them like
 * those that are not there.
 */
export function withoutNulls<T extends object>(value: T): T {
  return copy(value) as T
}

/** Terminates, since decoded JSON has a bounded depth. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, each]) => each !== null && each !== undefined)
  return Object.fromEntries(members.map(([name, each]) => [name, copy(each)]))
}
