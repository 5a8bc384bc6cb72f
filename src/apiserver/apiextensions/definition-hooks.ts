/**
 * Validates defaults and CEL rules in the schemas of a CustomResourceDefinition, which the validation of the kind
 * does not do: both need compiled rules.
 */
import { validateStructuralSchema } from '#/api/custom-resources/structural-schema.ts'
import { validatePatternSizes } from '#/api/custom-resources/subschemas.ts'
import type { FieldError } from '#/api/field-error.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { validateKeywords } from '#/api/custom-resources/schema-keywords.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Clock } from '#/platform/platform.ts'
import type { HookContext, ResourceHooks } from '../registry/hooks.ts'
import { hasUnprunedDefaults, validateDefaults } from './validate-defaults.ts'
import { validateRules, type ValidatedSchema } from './validate-rules.ts'

export const customResourceDefinitionHooks: ResourceHooks = { validate: validateSchemas }

/**
 * An unchanged schema is not validated again, so that stricter limits do not block updates. As in the validation
 * of the kind, a schema that all versions share is reported once.
 */
async function validateSchemas(
  object: KubernetesObject,
  oldObject: KubernetesObject | undefined,
  { clock }: HookContext,
): Promise<FieldError[]> {
  const oldVersions = versionsOf(oldObject)
  const olds = new Map(oldVersions.map(({ name, schema }) => [name, schema]))
  const versions = versionsOf(object)
  const isShared = versions.every(({ schema }) => equalJson(schema, versions[0]?.schema))
  const allowsUnpruned = () => oldVersions.some(({ schema }) => hasUnprunedDefaults(schema?.openAPIV3Schema))
  const pause = pauseOf(clock)
  const errors: FieldError[] = []
  for (const [index, { name, schema }] of (isShared ? versions.slice(0, 1) : versions).entries()) {
    const root = schema?.openAPIV3Schema
    if (root === undefined || equalJson(schema, olds.get(name))) continue
    const field = `${isShared ? 'spec.validation' : `spec.versions[${index}].schema`}.openAPIV3Schema`
    errors.push(...(await validateSchema({ field, root, pause }, allowsUnpruned)))
  }
  return errors
}

/** Rules or defaults between two turns of the event loop: a few milliseconds of work. */
const workBetweenTurns = 50

/** Large schemas have thousands of rules and defaults; other requests are served meanwhile. */
function pauseOf(clock: Pick<Clock, 'turn'>): () => Promise<void> {
  let done = 0
  return async () => {
    if (++done % workBetweenTurns === 0) await clock.turn()
  }
}

async function validateSchema(
  schema: ValidatedSchema,
  allowsUnpruned: () => boolean,
): Promise<readonly FieldError[]> {
  const { field, root } = schema
  // The validation of the kind reports these; defaults and rules of such a schema have no meaning.
  if (validatePatternSizes(field, root).length > 0 || validateStructuralSchema(field, root).length > 0)
    return []
  const errors = await validateDefaults(schema, allowsUnpruned)
  return errors.length > 0 ? errors : validateRules(schema, validateKeywords(field, root))
}

function versionsOf(object: KubernetesObject | undefined): CustomResourceDefinition['spec']['versions'] {
  return (object as Partial<CustomResourceDefinition> | undefined)?.spec?.versions ?? []
}
