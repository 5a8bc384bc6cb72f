/**
 * IntOrString fields: an integer or a string, such as a port or its name, a count or a percentage. The JSON
 * type is preserved; `"80"` is never converted to 80.
 */
import { isInt32, parseInt64 } from './int64.ts'
import { regexMessage } from '../names.ts'

export type IntOrString = number | string

/** True for a string or a 32-bit integer. */
export function isIntOrString(value: unknown): value is IntOrString {
  return typeof value === 'string' || isInt32(value)
}

/** Parses a command line argument: an integer if the text is one, otherwise the text. */
export function parseIntOrString(text: string): IntOrString {
  const value = parseInt64(text)
  return isInt32(value) ? value : text
}

/** 25 for `25%`; undefined for a number or a text that is not a percentage. */
export function percentOf(value: IntOrString): number | undefined {
  if (typeof value === 'number' || !value.endsWith('%')) return undefined
  const percent = parseInt64(value.slice(0, -1))
  return typeof percent === 'number' ? percent : undefined
}

/** Error messages for a text that must be a percentage. */
export function checkPercent(text: string): string[] {
  if (/^[0-9]+%$/.test(text)) return []
  const rule = "a valid percent string must be a numeric string followed by an ending '%'"
  return [regexMessage(rule, '[0-9]+%', ['1%', '93%'])]
}

/**
 * The value, or the percentage of the total rounded up, as for `maxSurge`. Undefined if the value is a text
 * but not a percentage.
 */
export function scaledValueRoundedUp(value: IntOrString, total: number): number | undefined {
  return scaled(value, total, Math.ceil)
}

/** The value, or the percentage of the total rounded down, as for `maxUnavailable`. Undefined as above. */
export function scaledValueRoundedDown(value: IntOrString, total: number): number | undefined {
  return scaled(value, total, Math.floor)
}

function scaled(value: IntOrString, total: number, round: (exact: number) => number): number | undefined {
  if (typeof value === 'number') return value
  const percent = percentOf(value)
  // Adding zero turns negative zero into zero.
  return percent === undefined ? undefined : round((percent * total) / 100) + 0
}
