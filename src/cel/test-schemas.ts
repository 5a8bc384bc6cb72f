/** Schemas of custom resources in a compact notation, for tests. */
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'

export const integer: JSONSchemaProps = { type: 'integer' }
export const number: JSONSchemaProps = { type: 'number' }
export const boolean: JSONSchemaProps = { type: 'boolean' }

export function string(maxLength?: number): JSONSchemaProps {
  return { type: 'string', ...(maxLength === undefined ? {} : { maxLength }) }
}

export function formatted(format: string, maxLength?: number): JSONSchemaProps {
  return { ...string(maxLength), format }
}

export function intOrString(maxLength?: number): JSONSchemaProps {
  return { 'x-kubernetes-int-or-string': true, ...(maxLength === undefined ? {} : { maxLength }) }
}

export function array(items: JSONSchemaProps, maxItems?: number): JSONSchemaProps {
  return { type: 'array', items, ...(maxItems === undefined ? {} : { maxItems }) }
}

export function map(values: JSONSchemaProps, maxProperties?: number): JSONSchemaProps {
  return {
    type: 'object',
    additionalProperties: values,
    ...(maxProperties === undefined ? {} : { maxProperties }),
  }
}

export function object(
  properties: Readonly<Record<string, JSONSchemaProps>>,
  ...required: readonly string[]
): JSONSchemaProps {
  return { type: 'object', properties, required }
}
