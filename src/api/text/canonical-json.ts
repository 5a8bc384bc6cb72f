/** JSON with sorted keys: equal values have equal texts. */
import type { JsonValue } from './json-value.ts'

export function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'bigint') return Number(each)
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
