/**
 * A field that is a whole number or a text: a port or its name, a count or a percentage. The two kinds stay
 * what they are in JSON; nothing here turns `"80"` into 80.
 */
import { isInt32, parseInt64 } from './int64.ts'
import { regexMessage } from './names.ts'

export type IntOrString = number | string

/** Whether a value can stand in such a field: a string, or a whole number of 32 bits. */
export function isIntOrString(value: unknown): value is IntOrString {
  return typeof value === 'string' || isInt32(value)
}

/** A number where the text is one, the text itself otherwise: how command lines read such a field. */
export function parseIntOrString(text: string): IntOrString {
  const value = parseInt64(text)
  return isInt32(value) ? value : text
}

/** 25 for `25%`; undefined for a number, or for a text that is no percentage. */
export function percentOf(value: IntOrString): number | undefined {
  if (typeof value === 'number' || !value.endsWith('%')) return undefined
  const percent = parseInt64(value.slice(0, -1))
  return typeof percent === 'number' ? percent : undefined
}

/** What is wrong with a text that must be a percentage. */
export function checkPercent(text: string): string[] {
  if (/^[0-9]+%$/.test(text)) return []
  const rule = "a valid percent string must be a numeric string followed by an ending '%'"
  return [regexMessage(rule, '[0-9]+%', ['1%', '93%'])]
}

/**
 * A count, or a percentage of the total rounded up: `maxSurge`, for which some must never become none.
 * Undefined when the value is a text but no percentage.
 */
export function scaledValueRoundedUp(value: IntOrString, total: number): number | undefined {
  return scaled(value, total, Math.ceil)
}

/** A count, or a percentage of the total rounded down: `maxUnavailable`. Undefined as above. */
export function scaledValueRoundedDown(value: IntOrString, total: number): number | undefined {
  return scaled(value, total, Math.floor)
}

function scaled(value: IntOrString, total: number, round: (exact: number) => number): number | undefined {
  if (typeof value === 'number') return value
  const percent = percentOf(value)
  // Adding zero keeps a negative zero from getting out.
  return percent === undefined ? undefined : round((percent * total) / 100) + 0
}
