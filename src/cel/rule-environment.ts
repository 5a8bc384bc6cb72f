/**
 * The environment of a rule in `x-kubernetes-validations`: `self` and `oldSelf` have the type of the schema
 * that the rule belongs to. Of the metadata of a resource only the name is visible.
 */
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { Field, Schema } from '#/api/schema.ts'
import { Environment } from './environment.ts'
import { kubernetesLibraries } from './library.ts'
import { schemaType } from './schema-type.ts'
import { dynType, optionalOf } from './type.ts'

export function ruleEnvironment(
  schema: JSONSchemaProps,
  { isRoot = false, optionalOldSelf = false } = {},
): Environment {
  const self = schemaType(convert(schema, isRoot), 'selfType') ?? dynType
  const oldSelf = optionalOldSelf ? optionalOf(self) : self
  return new Environment({ variables: { self, oldSelf }, libraries: kubernetesLibraries })
}

function convert(schema: JSONSchemaProps, isRoot: boolean): Schema {
  const { type, format, items, additionalProperties, properties = {} } = schema
  if (schema['x-kubernetes-int-or-string']) return { type: 'int-or-string' }
  if (type === 'array') {
    return { type: 'list', items: nested(items as JSONSchemaProps), listType: 'atomic', keys: [] }
  }
  if (type === 'object') {
    if (typeof additionalProperties === 'object') {
      return { type: 'map', values: nested(additionalProperties), atomic: false }
    }
    const all = isRoot ? { ...properties, ...resourceProperties } : properties
    const fields = Object.entries(all).map(([name, property]) => [name, field(nested(property))] as const)
    return { type: 'struct', name: '', fields: new Map(fields), atomic: false, preserveUnknownFields: false }
  }
  if (type === 'string') return { type, ...(format === undefined ? {} : { format }) }
  return type === 'boolean' || type === 'integer' || type === 'number' ? { type } : { type: 'any' }
}

const string: JSONSchemaProps = { type: 'string' }
const resourceProperties: Readonly<Record<string, JSONSchemaProps>> = {
  apiVersion: string,
  kind: string,
  metadata: { type: 'object', properties: { name: string, generateName: string } },
}

function nested(schema: JSONSchemaProps): Schema {
  return convert(schema, schema['x-kubernetes-embedded-resource'] === true)
}

function field(schema: Schema): Field {
  return { schema, required: false }
}
