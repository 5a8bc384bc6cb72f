/**
 * Validates defaults and CEL rules in the schemas of a CustomResourceDefinition, which the validation of the kind
 * does not do: both need compiled rules.
 */
import { validateStructuralSchema } from '#/api/custom-resources/structural-schema.ts'
import { validateShape } from '#/api/custom-resources/subschemas.ts'
import type { FieldError } from '#/api/field-error.ts'
import type { CustomResourceDefinition, JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import { validateKeywords } from '#/api/custom-resources/schema-keywords.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import { hasUnprunedDefaults, validateDefaults } from './validate-defaults.ts'
import { validateRules } from './validate-rules.ts'

export const customResourceDefinitionHooks: ResourceHooks = { validate: validateSchemas }

/** An unchanged schema is not validated again, so that stricter limits do not block updates. */
function validateSchemas(object: KubernetesObject, oldObject: KubernetesObject | undefined): FieldError[] {
  const oldVersions = versionsOf(oldObject)
  const olds = new Map(oldVersions.map(({ name, schema }) => [name, schema]))
  const versions = versionsOf(object)
  const isShared = versions.every(({ schema }) => equalJson(schema, versions[0]?.schema))
  const allowsUnpruned = () => oldVersions.some(({ schema }) => hasUnprunedDefaults(schema?.openAPIV3Schema))
  // As in the validation of the kind, a schema that all versions share is reported once.
  return (isShared ? versions.slice(0, 1) : versions).flatMap(({ name, schema }, index) => {
    const root = schema?.openAPIV3Schema
    if (root === undefined || equalJson(schema, olds.get(name))) return []
    const field = `${isShared ? 'spec.validation' : `spec.versions[${index}].schema`}.openAPIV3Schema`
    return validateSchema(field, root, allowsUnpruned)
  })
}

function validateSchema(field: string, root: JSONSchemaProps, allowsUnpruned: () => boolean): FieldError[] {
  // The validation of the kind reports these; defaults and rules of such a schema have no meaning.
  if (validateShape(field, root).length > 0 || validateStructuralSchema(field, root).length > 0) return []
  const errors = validateDefaults(field, root, allowsUnpruned)
  return errors.length > 0 ? errors : validateRules(field, root, validateKeywords(field, root))
}

function versionsOf(object: KubernetesObject | undefined): CustomResourceDefinition['spec']['versions'] {
  return (object as Partial<CustomResourceDefinition> | undefined)?.spec?.versions ?? []
}
