/**
 * Limits on the estimated cost of the rules in `x-kubernetes-validations`. A rule runs once for each value of
 * its schema, so its cost is multiplied by the number of values that a resource can contain.
 */
import { forbiddenField, type FieldError } from '#/api/field-error.ts'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { Program } from './cel.ts'
import { saturate } from './estimate.ts'
import { maxCardinality, resourceSize, schemaSize, type SchemaSize } from './schema-size.ts'

/** The place of a schema within the schema of a custom resource. */
export interface SchemaPlace {
  readonly schema: JSONSchemaProps
  /** Undefined if values are not visible to expressions. */
  readonly size: SchemaSize | undefined
  /** Number of values in a resource, as limited by the surrounding lists and maps; undefined if one has no limit. */
  readonly cardinality: bigint | undefined
}

/** The cost of a rule or message expression. */
export interface RuleCost {
  /** `spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule`. */
  readonly field: string
  readonly cost: bigint
}

/** Limit of one rule or message expression. */
const ruleCostMax = 10_000_000n
/** Limit of all of them in one schema. */
const schemaCostMax = 100_000_000n
/** Number of rules named when the limit of the schema is exceeded. */
const namedRulesMax = 4
/** Cheaper rules are not named. */
const namedCostMin = schemaCostMax / 100n

export function rootPlace(schema: JSONSchemaProps): SchemaPlace {
  return { schema, size: resourceSize(schema), cardinality: 1n }
}

/** The place of a property, of the items or of the values of a schema. */
export function childPlace(parent: SchemaPlace, schema: JSONSchemaProps): SchemaPlace {
  const count = elementsMax(parent.schema)
  const { cardinality } = parent
  return {
    schema,
    size: schemaSize(schema),
    cardinality: cardinality === undefined || count === undefined ? undefined : saturate(cardinality * count),
  }
}

/** The estimated cost of a rule for all values at its place. */
export function ruleCost(rule: Program, { size, cardinality }: SchemaPlace): bigint {
  const { max } = rule.estimateCost(() => size)
  return saturate(max * (cardinality ?? (size === undefined ? 1n : maxCardinality(size))))
}

/** The estimated cost of a message expression, which runs at most once. */
export function messageExpressionCost(expression: Program, { size }: SchemaPlace): bigint {
  return expression.estimateCost(() => size).max
}

export function validateRuleCost({ field, cost }: RuleCost): FieldError[] {
  return cost > ruleCostMax ? [forbiddenField(field, exceeded('estimated rule cost', cost, ruleCostMax))] : []
}

export function validateMessageExpressionCost({ field, cost }: RuleCost): FieldError[] {
  if (cost <= ruleCostMax) return []
  return [forbiddenField(field, exceeded('estimated messageExpression cost', cost, ruleCostMax))]
}

/** Errors if all rules and message expressions of the schema at `field` together are too expensive. */
export function validateTotalCost(field: string, costs: readonly RuleCost[]): FieldError[] {
  const total = saturate(costs.reduce((sum, { cost }) => sum + cost, 0n))
  if (total <= schemaCostMax) return []
  const named = costs.filter(({ cost }) => cost >= namedCostMin).sort((a, b) => Number(b.cost - a.cost))
  const detail = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
  const subject = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
  return [
    ...named.slice(0, namedRulesMax).map(rule => forbiddenField(rule.field, detail)),
    forbiddenField(field, exceeded(subject, total, schemaCostMax)),
  ]
}

/** The number of elements that a list or map may contain; undefined if it has no limit. */
function elementsMax({
  type,
  additionalProperties,
  maxProperties,
  maxItems,
}: JSONSchemaProps): bigint | undefined {
  const isMap = type === 'object' && additionalProperties !== undefined
  if (!isMap && type !== 'array') return 1n
  const max = isMap ? maxProperties : maxItems
  if (max === undefined) return undefined
  return max < 0 ? 0n : BigInt(max)
}

function exceeded(subject: string, cost: bigint, limit: bigint): string {
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength ' +
    'where arrays, maps, and strings are declared'
  return `${subject} exceeds budget by factor of ${formatFactor(cost, limit)} (${advice})`
}

function formatFactor(cost: bigint, limit: bigint): string {
  const factor = Number(cost) / Number(limit)
  if (factor > 100) return 'more than 100x'
  return `${formatFixed(factor, factor < 1.5 ? 6 : 1)}x`
}

/** Rounds halves to even, as Kubernetes does; `toFixed` rounds them up. */
function formatFixed(value: number, digits: number): string {
  // Only multiples of this power of two can be exactly between two decimal fractions.
  const isHalf = Math.abs((value * 2 ** (digits + 1)) % 2) === 1
  if (!isHalf) return value.toFixed(digits)
  return ((2 * Math.round((value * 10 ** digits) / 2)) / 10 ** digits).toFixed(digits)
}
