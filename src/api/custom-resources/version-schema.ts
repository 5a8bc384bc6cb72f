/** The schema of one version of a CustomResourceDefinition, compiled for defaulting and pruning. */
import { decode } from '../decoding/decode.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../generated/apiextensions/v1.ts'
import { jsonOf, objectOf, type KubernetesObject } from '../metadata.ts'
import type { StructSchema } from '../schema.ts'
import { compileDefaulting } from './defaulting.ts'
import { resourceSchemaOf } from './resource-schema.ts'

export interface VersionSchema {
  /** As its author wrote it; undefined if all fields are preserved. */
  readonly authored: JSONSchemaProps | undefined
  readonly struct: StructSchema
  /** Returns the same object if nothing is missing. */
  readonly withDefaults: (object: KubernetesObject) => KubernetesObject
  /** Removes the fields that the schema does not have. */
  readonly prune: (object: KubernetesObject) => KubernetesObject
}

export function compileVersionSchema(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
): VersionSchema {
  const authored = authoredSchemaOf(definition, version)
  const struct = resourceSchemaOf(authored)
  if (authored === undefined) return { authored, struct, withDefaults: itself, prune: itself }
  const fill = compileDefaulting(authored)
  return {
    authored,
    struct,
    withDefaults: object => {
      const json = jsonOf(object)
      const filled = fill(json)
      return filled === json ? object : objectOf(filled)
    },
    prune: object => {
      const json = jsonOf(object)
      const { value } = decode(json, struct, { customResource: true })
      return value === json ? object : objectOf(value)
    },
  }
}

function itself(object: KubernetesObject): KubernetesObject {
  return object
}

function authoredSchemaOf(
  { spec }: CustomResourceDefinition,
  { schema }: CustomResourceDefinitionVersion,
): JSONSchemaProps | undefined {
  const root = schema?.openAPIV3Schema
  if (root === undefined) return undefined
  return spec.preserveUnknownFields ? { ...root, 'x-kubernetes-preserve-unknown-fields': true } : root
}
