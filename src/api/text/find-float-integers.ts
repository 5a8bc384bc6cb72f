/**
 * Finds integers that a JSON text writes like floats: `1.0`, `1e3`. `JSON.parse` does not distinguish them from `1` and
 * `1000`, but Kubernetes accepts only plain digits in integer fields.
 */
import type { JsonPath } from './json-path.ts'

export interface FloatInteger {
  readonly path: JsonPath
  /** As written. */
  readonly literal: string
}

/** The text must be valid JSON. */
export function findFloatIntegers(text: string): readonly FloatInteger[] {
  if (!suspicious.test(text)) return []
  const found: FloatInteger[] = []
  const marked: unknown = JSON.parse(text, markFloats)
  collect(marked, [], found)
  return found
}

/** A number at the place of a value, with an exponent or with zeros as its only decimals. May be inside a string. */
const suspicious = /(?:^|[[:,])\s*-?\d+(?:\.0+(?!\d)|(?:\.\d+)?[eE])/

class Literal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

function markFloats(
  _key: string,
  value: unknown,
  { source = '' }: { readonly source?: string } = {},
): unknown {
  return typeof value === 'number' && Number.isInteger(value) && /[.eE]/.test(source)
    ? new Literal(source)
    : value
}

function collect(value: unknown, path: readonly (string | number)[], found: FloatInteger[]): void {
  if (value instanceof Literal) found.push({ path, literal: value.text })
  else if (Array.isArray(value))
    for (const [index, each] of value.entries()) collect(each, [...path, index], found)
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) collect(each, [...path, key], found)
}
