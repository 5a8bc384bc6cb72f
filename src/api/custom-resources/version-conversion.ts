/**
 * Conversion between the versions of a CustomResourceDefinition. Objects are defaulted with the schema of the
 * version they are stored in, and pruned with the schema of the version they are converted to.
 */
import { unknownError } from '../errors.ts'
import type { CustomResourceDefinition } from '../generated/apiextensions/v1.ts'
import type { VersionConversion } from '../kind-rules.ts'
import type { KubernetesObject } from '../metadata.ts'
import { apiVersionOf } from '../resource.ts'
import type { VersionSchema } from './version-schema.ts'

export interface VersionConversionOptions {
  readonly definition: CustomResourceDefinition
  /** By name of the version. */
  readonly schemas: ReadonlyMap<string, VersionSchema>
  /** Absent if the conversion strategy is None. */
  readonly webhook?: ConversionWebhook
}

/** Converts objects of other versions to `apiVersion`, in the same order. Rejects with ApiError. */
export type ConversionWebhook = (
  objects: readonly KubernetesObject[],
  apiVersion: string,
) => Promise<readonly KubernetesObject[]>

export function versionConversionOf(options: VersionConversionOptions): VersionConversion {
  const { definition, schemas, webhook } = options
  const { group } = definition.spec
  const byApiVersion = new Map(
    Array.from(schemas, ([version, schema]) => [apiVersionOf({ group, version }), schema]),
  )
  const schemaOf = (apiVersion: string, direction: 'from' | 'to'): VersionSchema => {
    const schema = byApiVersion.get(apiVersion)
    if (schema) return schema
    throw unknownError(`request to convert CR ${direction} an invalid group/version: ${apiVersion}`)
  }
  const convert: VersionConversion['convert'] = (objects, to) => {
    const apiVersion = apiVersionOf(to)
    const { prune } = schemaOf(apiVersion, 'to')
    for (const object of objects) schemaOf(object.apiVersion ?? '', 'from')
    if (webhook === undefined) return objects.map(object => prune(withApiVersion(object, apiVersion)))
    const others = objects.filter(object => object.apiVersion !== apiVersion)
    if (others.length === 0) return objects.map(prune)
    return webhook(others, apiVersion).then(converted => {
      const rest = converted.values()
      return objects.map(object => prune(object.apiVersion === apiVersion ? object : rest.next().value!))
    })
  }
  return {
    name: `${definition.metadata.uid} ${definition.metadata.generation}`,
    convert,
    decode: (objects, to) => {
      const defaulted = objects.map(object => schemaOf(object.apiVersion ?? '', 'from').withDefaults(object))
      return convert(defaulted, to)
    },
  }
}

/** Field order is part of the serialized form: kind and apiVersion come first. */
function withApiVersion(object: KubernetesObject, apiVersion: string): KubernetesObject {
  if (object.apiVersion === apiVersion) return object
  const { kind, apiVersion: _, ...rest } = object
  return { ...(kind !== undefined && { kind }), apiVersion, ...rest }
}
