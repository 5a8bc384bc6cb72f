/**
 * The environment of a rule in `x-kubernetes-validations`: `self` and `oldSelf` have the type of the schema
 * that the rule belongs to. Of the metadata of a resource only the name is visible.
 */
import { resourceSchemaOf, valueSchemaOf } from '#/api/custom-resources/resource-schema.ts'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { Field, StructSchema } from '#/api/schema.ts'
import { Environment } from './environment.ts'
import { kubernetesLibraries } from './library.ts'
import { schemaType } from './schema-type.ts'
import { dynType, optionalOf, type Type } from './type.ts'

/** The type of `self`. `isResource` is true for the root of a custom resource and for embedded resources. */
export function selfType(schema: JSONSchemaProps, isResource: boolean): Type {
  const converted = isResource
    ? resourceSchemaOf(schema, visibleMetadata)
    : valueSchemaOf(schema, visibleMetadata)
  return schemaType(converted, 'selfType') ?? dynType
}

export function ruleEnvironment(self: Type, { optionalOldSelf = false } = {}): Environment {
  return base.extend({ variables: { self, oldSelf: optionalOldSelf ? optionalOf(self) : self } })
}

const base = new Environment({ libraries: kubernetesLibraries })

const text: Field = { schema: { type: 'string' }, required: false }

const visibleMetadata: StructSchema = {
  type: 'struct',
  name: '',
  fields: new Map([
    ['name', text],
    ['generateName', text],
  ]),
  atomic: false,
  preserveUnknownFields: false,
}
