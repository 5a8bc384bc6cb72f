/** Resolves field paths such as `.spec.color` or `.spec['a.b']` in a schema. */
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { propertyOf, valuesOf } from './subschemas.ts'

export interface FoundField {
  readonly schema: JSONSchemaProps
  readonly names: readonly string[]
}

/** The field or an error message. */
export function findField(path: string, root: JSONSchemaProps): FoundField | string {
  let schema: JSONSchemaProps = root
  const names: string[] = []
  for (let rest = path; rest !== '';) {
    const step = /^\.([^.[\]]+)/.exec(rest) ?? /^\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]/.exec(rest)
    if (!step) return describeFault(rest)
    const name = step[1] ?? ''
    const next = stepInto(schema, name)
    if (!next) return 'does not refer to a valid field'
    schema = next
    names.push(name)
    rest = rest.slice(step[0].length)
  }
  return { schema, names }
}

function stepInto(schema: JSONSchemaProps, name: string): JSONSchemaProps | undefined {
  return schema.properties === undefined ? valuesOf(schema) : propertyOf(schema, name)
}

function describeFault(rest: string): string {
  if (rest === '.' || rest === '[') return 'unexpected end of JSON path'
  if (rest.startsWith('[')) return `expected single quoted string but got ${rest.slice(1)}`
  if (rest.startsWith('.')) return 'does not refer to a valid field'
  return `expected [ or . but got: ${/^[^.[\]]*/.exec(rest)?.[0] || rest.charAt(0)}`
}
