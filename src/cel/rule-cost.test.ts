/** The costs and messages are those of Kubernetes v1.36 for the same schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldError } from '#/api/field-error.ts'
import type { JSONSchemaProps, ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import { compile } from './cel.ts'
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
} from './rule-cost.ts'
import { ruleEnvironment, selfType } from './rule-environment.ts'
import { array, integer, intOrString, map, object, string } from './test-schemas.ts'

const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength ' +
  'where arrays, maps, and strings are declared)'
const pairwise = 'self.all(x, self.exists(y, y == x))'

function withRules(schema: JSONSchemaProps, ...rules: readonly (string | ValidationRule)[]): JSONSchemaProps {
  const all = rules.map(rule => (typeof rule === 'string' ? { rule } : rule))
  return { ...schema, 'x-kubernetes-validations': all }
}

/** Costs of all rules of a schema, nested schemas first. */
function costsOf(place: SchemaPlace, field: string): RuleCost[] {
  const { schema } = place
  const { properties = {}, items, additionalProperties } = schema
  const nested = [
    ...Object.entries(properties).map(([name, property]) => [`.${name}`, property] as const),
    ['[]', items] as const,
    ['{}', additionalProperties] as const,
  ]
  const isResource = field === '' || schema['x-kubernetes-embedded-resource'] === true
  const environment = ruleEnvironment(selfType(schema, isResource))
  return [
    ...nested.flatMap(([suffix, child]) => {
      if (typeof child !== 'object') return []
      return costsOf(childPlace(place, child as JSONSchemaProps), field + suffix)
    }),
    ...(schema['x-kubernetes-validations'] ?? []).flatMap(({ rule, messageExpression }, index) => {
      const cost = ruleCost(compile(rule, environment), place)
      const head: RuleCost = { field: `${field} rule ${index}`, cost }
      if (messageExpression === undefined) return [head]
      const messageCost = messageExpressionCost(compile(messageExpression, environment), place)
      return [head, { field: `${field} messageExpression ${index}`, cost: messageCost }]
    }),
  ]
}

test('the cost of a rule is multiplied by the number of values that a resource can contain', () => {
  const contains = "self.contains('abc')"
  const cases: readonly (readonly [JSONSchemaProps, ...bigint[]])[] = [
    [array(withRules(string(), contains)), 329_854_746_624n],
    [array(withRules(string(1_000), contains), 100), 40_100n],
    [array(withRules(string(), "self == 'abc'", 'self.size() < 3'), 5), 10n, 15n],
    [map(withRules(string(), "self.contains('abcdefghijkl')")), 659_708_444_672n],
    [map(array(withRules(string(), contains), 10), 10), 31_457_400n],
    [map(array(withRules(string(), contains), 10)), 329_854_746_624n],
    [array(map(withRules(string(10), contains), 0), 10), 0n],
    [map(withRules(object({ a: string() }, 'a'), "self.a.contains('abc')")), 98_956_486_900n],
    [array(withRules(intOrString(), "self == 1 || self == 'abcdef'")), 6_291_456n],
    [withRules(array(integer, 1_300), pairwise), 10_146_502n],
    [object({ a: withRules({ type: 'object', additionalProperties: true }, 'self == oldSelf') }), 2n],
    [withRules(string(), { rule: "self == 'a'", messageExpression: 'self + self + self' }), 2n, 1_572_867n],
    [array(withRules(string(), { rule: 'true', messageExpression: 'self.trim()' }), 4), 0n, 314_574n],
  ]
  for (const [schema, ...costs] of cases) {
    const found = costsOf(rootPlace(object({ spec: schema })), '').map(({ cost }) => cost)
    assert.deepEqual(found, costs, JSON.stringify(schema))
  }
})

test('a rule or message expression that exceeds the limit', () => {
  const cases: readonly (readonly [number, string?])[] = [
    [10_000_000],
    [10_000_001, '1.000000x'],
    [10_078_125, '1.007812x'],
    [10_146_502, '1.014650x'],
    [14_999_999, '1.500000x'],
    [15_000_000, '1.5x'],
    [22_500_000, '2.2x'],
    [24_500_000, '2.5x'],
    [27_500_000, '2.8x'],
    [1_000_000_000, '100.0x'],
    [1_000_000_001, 'more than 100x'],
  ]
  for (const [cost, factor] of cases) {
    const rule = { field: 'spec.rule', cost: BigInt(cost) }
    const expected = (subject: string): FieldError[] => {
      if (factor === undefined) return []
      const detail = `${subject} exceeds budget by factor of ${factor} ${advice}`
      return [{ reason: 'FieldValueForbidden', field: 'spec.rule', detail }]
    }
    assert.deepEqual(validateRuleCost(rule), expected('estimated rule cost'))
    assert.deepEqual(validateMessageExpressionCost(rule), expected('estimated messageExpression cost'))
  }
})

test('the total of a schema that exceeds the limit names the four most expensive rules', () => {
  const rules = [pairwise, 'self.all(x, self.exists(y, y == x + 1))', 'self.size() > 1']
  const lists = [900, 1_000, 1_100, 1_200, 1_300, 1_400].map((maxItems, index) => {
    return [`f${index}`, withRules(array(integer, maxItems), ...rules)] as const
  })
  const schema = object(Object.fromEntries(lists))
  const costs = costsOf(rootPlace(schema), '')
  const found = validateTotalCost('schema', costs).map(({ field, detail }) => `${field}: ${detail}`)
  const contributed =
    'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
  assert.deepEqual(found, [
    `.f5 rule 1: ${contributed}`,
    `.f4 rule 1: ${contributed}`,
    `.f5 rule 0: ${contributed}`,
    `.f4 rule 0: ${contributed}`,
    'schema: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema ' +
      `exceeds budget by factor of 1.054990x ${advice}`,
  ])
  assert.deepEqual(validateTotalCost('schema', [{ field: 'a', cost: 100_000_000n }]), [])
  const cheap = Array.from({ length: 200 }, (_, index) => ({ field: `${index}`, cost: 999_999n }))
  assert.deepEqual(
    validateTotalCost('schema', cheap).map(({ field }) => field),
    ['schema'],
  )
})
