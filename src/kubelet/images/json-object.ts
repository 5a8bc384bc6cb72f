export type JsonObject = Readonly<Record<string, unknown>>

/** Throws if the value is not an object. */
export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${what} is no object`)
  return Object.fromEntries(Object.entries(value))
}
