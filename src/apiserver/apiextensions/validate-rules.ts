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
import { compileRules, type CompiledRule } from './validation-rules.ts'

/**
 * `field` is the path of the schema in the definition, `schemaErrors` are its other errors: rules of a schema
 * that has some, or contains schemas that do, are not compiled.
 */
export function validateRules(
  field: string,
  root: JSONSchemaProps,
  schemaErrors: readonly FieldError[],
): FieldError[] {
  const run: Run = { errors: [], costs: [], invalidFields: schemaErrors.map(error => error.field) }
  validateWithin(run, rootPlace(root), { field, isResource: true, uncorrelatable: undefined })
  return [...run.errors, ...validateTotalCost(field, run.costs)]
}

interface Run {
  readonly errors: FieldError[]
  readonly costs: RuleCost[]
  readonly invalidFields: readonly string[]
}

interface Position {
  readonly field: string
  readonly isResource: boolean
  /** The outermost list around the schema whose items have no identity, so that there is no old value. */
  readonly uncorrelatable: string | undefined
}

function validateWithin(run: Run, place: SchemaPlace, position: Position): void {
  const { schema } = place
  const { field, isResource, uncorrelatable } = position
  const within = (nested: JSONSchemaProps, suffix: string, list?: string): void => {
    validateWithin(run, childPlace(place, nested), {
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
  if (!schema['x-kubernetes-validations']?.length) return
  if (run.invalidFields.some(each => each.startsWith(field))) return
  for (const [index, rule] of compileRules({ schema, isResource }).rules.entries()) {
    validateRule(run, rule, { ...position, place, field: `${field}.x-kubernetes-validations[${index}]` })
  }
}

function validateRule(
  run: Run,
  { rule, program, message, isTransition }: CompiledRule,
  { field, place, uncorrelatable }: Position & { readonly place: SchemaPlace },
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
