/**
 * JSON values, of which API objects consist. Integers beyond 2^53 are `bigint`, so that no digits are lost.
 * Both functions use an explicit stack, since clients control the depth and must not overflow the call stack.
 */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue }

/**
 * Deeply freezes a value and returns it. A frozen value is assumed to be frozen at all levels, so freezing an
 * object that shares most of its structure with an older one costs only the new parts.
 */
export function deepFreeze<T>(value: T): T {
  if (!isContainer(value) || Object.isFrozen(value)) return value
  const pending: object[] = [Object.freeze(value)]
  for (let container = pending.pop(); container !== undefined; container = pending.pop()) {
    for (const each of Object.values(container)) {
      if (isContainer(each) && !Object.isFrozen(each)) pending.push(Object.freeze(each))
    }
  }
  return value
}

/**
 * True if two values are equal as JSON. Key order does not matter, a key with the value undefined counts as
 * absent, and 1 equals 1n.
 */
export function equalJson(a: unknown, b: unknown): boolean {
  const pending: unknown[] = []
  if (!equalHere(a, b, pending)) return false
  while (pending.length > 0) {
    if (!equalHere(pending.pop(), pending.pop(), pending)) return false
  }
  return true
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Compares two values except for nested containers, which are pushed in pairs to `pending`. */
function equalHere(a: unknown, b: unknown, pending: unknown[]): boolean {
  if (a === b) return true
  if (!isContainer(a) || !isContainer(b)) return equalScalars(a, b)
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && equalLists(a, b, pending)
  }
  return equalMaps(a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>, pending)
}

function equalScalars(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a === 'bigint' && typeof b === 'number') return Number.isInteger(b) && a === BigInt(b)
  if (typeof b === 'bigint' && typeof a === 'number') return Number.isInteger(a) && b === BigInt(a)
  return false
}

function equalLists(a: readonly unknown[], b: readonly unknown[], pending: unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) {
    if (!equalOrPending(a[index], b[index], pending)) return false
  }
  return true
}

function equalMaps(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  pending: unknown[],
): boolean {
  let present = 0
  for (const key of Object.keys(a)) {
    const value = a[key]
    if (value === undefined) continue
    present++
    // Without the check, a key such as __proto__ would be found in every object.
    if (!Object.hasOwn(b, key) || !equalOrPending(value, b[key], pending)) return false
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) present--
  return present === 0
}

function equalOrPending(a: unknown, b: unknown, pending: unknown[]): boolean {
  if (a === b) return true
  if (!isContainer(a) || !isContainer(b)) return equalScalars(a, b)
  pending.push(a, b)
  return true
}
