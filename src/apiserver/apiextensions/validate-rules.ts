/** Validates the CEL rules of a schema: they compile, and their estimated cost is within limits. */
import { itemsOf, valuesOf } from '#/api/custom-resources/subschemas.ts'
import { invalid, type FieldError } from '#/api/field-error.ts'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import {
  childPlace,
  messageExpressionCost,
  rootPlace,
  ruleCost,
  validateMessageExpressionCost,
  validateRuleCost,
  validateTotalCost,
  type RuleCost,
  type SchemaPlace,
} from '#/cel/rule-cost.ts'
import { SchemaRules, type CompiledRule } from './validation-rules.ts'

/** A schema in a definition. */
export interface ValidatedSchema {
  /** The path of the schema: `spec.versions[0].schema.openAPIV3Schema`. */
  readonly field: string
  readonly root: JSONSchemaProps
  /** Called between pieces of work; yields to the event loop from time to time. */
  readonly pause: () => Promise<void>
}

/**
 * `schemaErrors` are the other errors of the schema: rules of a schema that has some, or contains schemas that do,
 * are not compiled.
 */
export async function validateRules(
  { field, root, pause }: ValidatedSchema,
  schemaErrors: readonly FieldError[],
): Promise<FieldError[]> {
  const invalidFields = schemaErrors.map(error => error.field).sort()
  const found: Position[] = []
  findRules(found, { place: rootPlace(root), field, isResource: true, uncorrelatable: undefined })
  const run: Run = { errors: [], costs: [] }
  for (const position of found) {
    if (hasPrefix(invalidFields, position.field)) continue
    const { place, isResource } = position
    // Not kept: rules are needed again only if an object has a value for the schema.
    const rules = new SchemaRules(place.schema, isResource)
    for (let index = 0; index < rules.length; index++) {
      validateRule(run, rules.at(index), {
        ...position,
        field: `${position.field}.x-kubernetes-validations[${index}]`,
      })
      await pause()
    }
  }
  return [...run.errors, ...validateTotalCost(field, run.costs)]
}

/** True if one of the sorted texts begins with the prefix. */
function hasPrefix(sorted: readonly string[], prefix: string): boolean {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (sorted[middle]! < prefix) low = middle + 1
    else high = middle
  }
  return sorted[low]?.startsWith(prefix) === true
}

interface Run {
  readonly errors: FieldError[]
  readonly costs: RuleCost[]
}

/** A schema with rules of its own. */
interface Position {
  readonly place: SchemaPlace
  readonly field: string
  readonly isResource: boolean
  /** The outermost list around the schema whose items have no identity, so that there is no old value. */
  readonly uncorrelatable: string | undefined
}

/** Inner schemas first. */
function findRules(found: Position[], position: Position): void {
  const { place, field, uncorrelatable } = position
  const { schema } = place
  const within = (nested: JSONSchemaProps, suffix: string, list?: string): void => {
    findRules(found, {
      place: childPlace(place, nested),
      field: field + suffix,
      isResource: nested['x-kubernetes-embedded-resource'] === true,
      uncorrelatable: uncorrelatable ?? list,
    })
  }
  const [items, values] = [itemsOf(schema), valuesOf(schema)]
  if (values) within(values, '.additionalProperties')
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    within(property, `.properties[${name}]`)
  }
  if (items) within(items, '.items', schema['x-kubernetes-list-type'] === 'map' ? undefined : field)
  if (schema['x-kubernetes-validations']?.length) found.push(position)
}

function validateRule(
  run: Run,
  { rule, program, message, isTransition }: CompiledRule,
  { field, place, uncorrelatable }: Position,
): void {
  const ruleField = `${field}.rule`
  if (program instanceof InvalidExpression) {
    run.errors.push(invalid(ruleField, rule, program.message))
  } else {
    const cost = { field: ruleField, cost: ruleCost(program, place) }
    run.costs.push(cost)
    run.errors.push(...validateRuleCost(cost))
  }
  const messageField = `${field}.messageExpression`
  if (message instanceof InvalidExpression) {
    run.errors.push(invalid(messageField, rule, message.message))
  } else if (message) {
    const cost = { field: messageField, cost: messageExpressionCost(message, place) }
    run.costs.push(cost)
    run.errors.push(...validateMessageExpressionCost(cost))
  }
  if (isTransition && uncorrelatable !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`
    run.errors.push(invalid(ruleField, rule.rule, detail))
  }
  if (rule.optionalOldSelf !== undefined && !isTransition) {
    const detail = 'may not be set if oldSelf is not used in rule'
    run.errors.push(invalid(`${field}.optionalOldSelf`, rule.optionalOldSelf, detail))
  }
}
