/** Validates the CEL rules of a CustomResourceDefinition, which the validation of the kind does not compile. */
import { validateStructuralSchema } from '#/api/custom-resources/structural-schema.ts'
import { validateShape } from '#/api/custom-resources/subschemas.ts'
import type { FieldError } from '#/api/field-error.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import { compileValidationRules } from './validation-rules.ts'

export const customResourceDefinitionHooks: ResourceHooks = {
  validate: (object, oldObject) => validateRules(object, oldObject),
}

/** An unchanged schema is not validated again, so that stricter limits do not block updates. */
function validateRules(object: KubernetesObject, oldObject: KubernetesObject | undefined): FieldError[] {
  const olds = new Map(versionsOf(oldObject).map(({ name, schema }) => [name, schema]))
  const versions = versionsOf(object)
  const isShared = versions.every(({ schema }) => equalJson(schema, versions[0]?.schema))
  // As in the validation of the kind, a schema that all versions share is reported once.
  return (isShared ? versions.slice(0, 1) : versions).flatMap(({ name, schema }, index) => {
    const root = schema?.openAPIV3Schema
    if (root === undefined || equalJson(schema, olds.get(name))) return []
    const field = `${isShared ? 'spec.validation' : `spec.versions[${index}].schema`}.openAPIV3Schema`
    // The validation of the kind reports these; the rules of such a schema cannot be compiled.
    if (validateShape(field, root).length > 0 || validateStructuralSchema(field, root).length > 0) return []
    return [...compileValidationRules(root, field).errors]
  })
}

function versionsOf(object: KubernetesObject | undefined): CustomResourceDefinition['spec']['versions'] {
  return (object as Partial<CustomResourceDefinition> | undefined)?.spec?.versions ?? []
}
