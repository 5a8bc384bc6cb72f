/**
 * Validates the defaults in the schema of a custom resource: a default satisfies its own schema and has only
 * fields of it. Defaults inside the metadata of a resource result in valid metadata.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
 */
import { validateEmbeddedResource, validateEmbeddedTypes } from '#/api/custom-resources/embedded-resources.ts'
import { itemsOf, propertyOf, someSchema, valuesOf } from '#/api/custom-resources/subschemas.ts'
import { compileSchemaCheck } from '#/api/custom-resources/validate-schema.ts'
import { compileWalk, type ValueCheck, type Walks } from '#/api/custom-resources/walk-values.ts'
import { formatFieldErrors, invalid, type FieldError } from '#/api/field-error.ts'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { Budget } from '#/cel/cost.ts'
import { evaluateRules, objectCostMax } from './evaluate-rules.ts'
import type { ValidatedSchema } from './validate-rules.ts'
import { ruleNodeOf, type RuleNodes } from './validation-rules.ts'

/**
 * The schema must be structural. Unknown fields are errors unless `allowsUnpruned`, which is called only if there
 * are some.
 */
export async function validateDefaults(
  { field, root, pause }: ValidatedSchema,
  allowsUnpruned: () => boolean,
): Promise<FieldError[]> {
  const run: Run = {
    root,
    allowsUnpruned,
    types: new Map(),
    resources: new Map(),
    rules: new Map(),
    budget: new Budget(objectCostMax),
    errors: [],
  }
  const found: Place[] = []
  findDefaults(run, found, { field, schema: root, resource: root, metadata: undefined })
  for (const place of found) {
    if (run.budget.isExceeded || run.errors.length >= errorsMax) break
    validateDefault(run, place)
    await pause()
  }
  return run.errors
}

/** Maximum number of errors for one schema: each is part of the response. */
const errorsMax = 1_000

/** True if a default has fields that are not in its schema. */
export function hasUnprunedDefaults(root: JSONSchemaProps | undefined): boolean {
  return root !== undefined && someSchema(root, schema => hasUnknownFields(defaultOf(schema), schema))
}

interface Run {
  readonly root: JSONSchemaProps
  readonly allowsUnpruned: () => boolean
  /** Shared by all defaults, since one may be nested in the schema of another. */
  readonly types: Walks
  readonly resources: Walks
  readonly rules: RuleNodes
  readonly budget: Budget
  readonly errors: FieldError[]
}

/** Embeds a value inside metadata into an otherwise valid resource. */
type Surround = (value: JsonValue) => JsonObject

interface Place {
  readonly field: string
  readonly schema: JSONSchemaProps
  /** The schema of the resource that contains the value: the root or an embedded resource. */
  readonly resource: JSONSchemaProps
  /** Defined inside `apiVersion`, `kind` and `metadata` of the resource. */
  readonly metadata: Surround | undefined
}

/** Defaults of the values of maps are not validated. */
function findDefaults(run: Run, found: Place[], place: Place): void {
  const { field, schema, metadata } = place
  const isResource = isResourceSchema(run, schema)
  const resource = isResource ? schema : place.resource
  const surround = isResource ? undefined : metadata
  if (defaultOf(schema) !== undefined) found.push({ field, schema, resource, metadata: surround })
  const items = itemsOf(schema)
  const inItems = surround && ((value: JsonValue) => surround([value]))
  if (items) findDefaults(run, found, { field: `${field}.items`, schema: items, resource, metadata: inItems })
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const outer = isResource && metadataFields.has(name) ? surroundingResource : surround
    findDefaults(run, found, {
      field: `${field}.properties[${name}]`,
      schema: property,
      resource,
      metadata: outer && (value => outer({ [name]: value })),
    })
  }
}

const metadataFields: ReadonlySet<string> = new Set(['metadata', 'apiVersion', 'kind'])

const surroundingResource: Surround = value => ({
  apiVersion: 'validation/v1',
  kind: 'Validation',
  ...(isObject(value) && value),
})

function isResourceSchema({ root }: Run, schema: JSONSchemaProps): boolean {
  return schema === root || schema['x-kubernetes-embedded-resource'] === true
}

/** Undefined for null, too. */
function defaultOf(schema: JSONSchemaProps): JsonValue | undefined {
  return (schema.default as JsonValue | undefined) ?? undefined
}

function validateDefault(run: Run, place: Place): void {
  const value = defaultOf(place.schema)
  if (value === undefined) return
  const field = `${place.field}.default`
  if (!place.metadata && hasUnknownFields(value, place.schema) && !run.allowsUnpruned()) {
    run.errors.push(invalid(field, value, 'must not have unknown fields'))
  }
  const steps = [validateResources, validateAgainstSchema, validateAgainstRules]
  for (const step of steps) {
    const errors = step(run, place, { value, field })
    run.errors.push(...errors)
    if (errors.length > 0) return
  }
}

interface Default {
  readonly value: JsonValue
  readonly field: string
}

/** Embedded resources in the value, or the resource around it. */
function validateResources(
  run: Run,
  { schema, resource, metadata }: Place,
  { value, field }: Default,
): FieldError[] {
  const check = (walks: Walks, each: ValueCheck) => {
    const walk = (start: JSONSchemaProps) =>
      compileWalk(start, nested => (isResourceSchema(run, nested) ? each : undefined), walks)
    return metadata ? walk(resource)?.(metadata(value), '') : walk(schema)?.(value, field)
  }
  // Only the first mismatch of a type is reported.
  const errors = check(run.types, validateEmbeddedTypes)?.slice(0, 1) ?? []
  if (errors.length === 0) errors.push(...(check(run.resources, validateEmbeddedResource) ?? []))
  if (errors.length === 0 || !metadata) return errors
  return [invalid(field, value, `must result in valid metadata: ${formatFieldErrors(errors)}`)]
}

function validateAgainstSchema(_run: Run, { schema }: Place, { value, field }: Default): FieldError[] {
  return compileSchemaCheck(schema)(value).map(error => ({
    ...error,
    field: error.field === '<nil>' ? field : `${field}.${error.field}`,
  }))
}

/** Both an update that does not change the value and one that introduces it must satisfy the rules. */
function validateAgainstRules(
  run: Run,
  { schema, resource }: Place,
  { value, field }: Default,
): FieldError[] {
  const node = ruleNodeOf(schema, schema === resource, run.rules)
  if (node === undefined) return []
  const evaluate = (old: JsonValue | undefined) =>
    evaluateRules(node, { value, old, ratchets: false, budget: run.budget })
  const errors = evaluate(value)
  if (errors.length === 0) errors.push(...evaluate(undefined))
  return errors.map(error => ({ ...error, field: fieldIn(field, error.field) }))
}

function fieldIn(field: string, path: string): string {
  if (path === '<nil>') return field
  return path.startsWith('[') ? field + path : `${field}.${path}`
}

/** True if pruning would change the value. */
function hasUnknownFields(value: JsonValue | undefined, schema: JSONSchemaProps | undefined): boolean {
  const preserves = schema?.['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) {
    const items = schema && itemsOf(schema)
    // Lists of preserved values are preserved at every level.
    const preserved = preserves ? { ...items, 'x-kubernetes-preserve-unknown-fields': true } : items
    return value.some(item => hasUnknownFields(item, preserved))
  }
  if (!isObject(value)) return false
  return Object.entries(value).some(([name, member]) => {
    if (schema?.['x-kubernetes-embedded-resource'] && metadataFields.has(name)) return false
    const property = schema && propertyOf(schema, name)
    if (property) return hasUnknownFields(member, property)
    const { additionalProperties } = schema ?? {}
    if (additionalProperties === undefined) return !preserves
    return hasUnknownFields(member, schema && valuesOf(schema))
  })
}
