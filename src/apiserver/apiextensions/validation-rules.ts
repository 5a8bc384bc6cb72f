/**
 * The CEL rules of a custom resource (`x-kubernetes-validations`): compiled once for a version, and evaluated
 * for each write, on every value that a rule belongs to.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import { forbiddenField, invalid, required, type FieldError } from '#/api/field-error.ts'
import { correlateItems } from '#/api/custom-resources/correlate-items.ts'
import type { JSONSchemaProps, ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { Program } from '#/cel/cel.ts'
import { compileExpression, InvalidExpression } from '#/cel/compile-expression.ts'
import { Budget, expressionCostMax } from '#/cel/cost.ts'
import { EvaluationError } from '#/cel/evaluation-error.ts'
import { fromJson } from '#/cel/json.ts'
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
import { ruleEnvironment } from '#/cel/rule-environment.ts'
import { stringType, type Type } from '#/cel/type.ts'
import { Optional, type Value } from '#/cel/value.ts'

/** Cost limit of all rules for one object. */
const objectCostMax = 10_000_000

/** The rules of a schema and of what it contains; undefined without any. */
interface RuleNode {
  readonly schema: JSONSchemaProps
  readonly type: Type | undefined
  readonly rules: readonly CompiledRule[]
  readonly properties: readonly (readonly [string, RuleNode])[]
  readonly items: RuleNode | undefined
  readonly values: RuleNode | undefined
}

interface CompiledRule {
  readonly rule: ValidationRule
  readonly program: Program
  readonly messageProgram: Program | undefined
  readonly isTransition: boolean
}

export interface ValidationRules {
  /** Errors in the rules themselves, for the validation of the definition. */
  readonly errors: readonly FieldError[]
  /** Errors of an object. `old` is the stored one, undefined for a creation. */
  readonly validate: (object: JsonObject, old: JsonObject | undefined) => FieldError[]
}

/** `field` is the path of the schema in the definition. */
export function compileValidationRules(root: JSONSchemaProps, field: string): ValidationRules {
  const compiler = new RuleCompiler()
  const node = compiler.compile(rootPlace(root), { field, isRoot: true, isCorrelated: true })
  const errors = [...compiler.errors, ...validateTotalCost(field, compiler.costs)]
  return {
    errors,
    validate: (object, old) => {
      if (node === undefined) return []
      const run: Run = { budget: new Budget(objectCostMax), errors: [], isExhausted: false }
      evaluate(node, { value: object, old, path: '' }, run)
      return run.errors
    },
  }
}

interface Position {
  readonly field: string
  readonly isRoot: boolean
  /** False inside of lists whose items have no identity, where there is no old value. */
  readonly isCorrelated: boolean
}

class RuleCompiler {
  readonly errors: FieldError[] = []
  readonly costs: RuleCost[] = []

  compile(place: SchemaPlace, position: Position): RuleNode | undefined {
    const { schema } = place
    const { field, isCorrelated } = position
    const rules = (schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) =>
      this.#compileRule(rule, place, { ...position, field: `${field}.x-kubernetes-validations[${index}]` }),
    )
    const child = (nested: JSONSchemaProps, suffix: string, isKnown: boolean) =>
      this.compile(childPlace(place, nested), {
        field: field + suffix,
        isRoot: nested['x-kubernetes-embedded-resource'] === true,
        isCorrelated: isCorrelated && isKnown,
      })
    const properties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const node = child(property, `.properties[${name}]`, true)
      return node ? [[name, node] as const] : []
    })
    const isMapList = schema['x-kubernetes-list-type'] === 'map'
    const items = isSchema(schema.items) ? child(schema.items, '.items', isMapList) : undefined
    const { additionalProperties } = schema
    const values = isSchema(additionalProperties)
      ? child(additionalProperties, '.additionalProperties', true)
      : undefined
    if (rules.length === 0 && properties.length === 0 && !items && !values) return undefined
    const type = rules.length > 0 ? selfType(schema, position.isRoot) : undefined
    return { schema, type, rules, properties, items, values }
  }

  #compileRule(rule: ValidationRule, place: SchemaPlace, position: Position): CompiledRule[] {
    const { field, isRoot, isCorrelated } = position
    const optionalOldSelf = rule.optionalOldSelf === true
    const environment = ruleEnvironment(place.schema, { isRoot, optionalOldSelf })
    const program = compileExpression(rule.rule, environment)
    if (program instanceof InvalidExpression) {
      this.errors.push(invalid(`${field}.rule`, rule, program.message))
      return []
    }
    if (program.type.kind !== 'bool' && program.type.kind !== 'dyn') {
      this.errors.push(invalid(`${field}.rule`, rule, 'cel expression must evaluate to a bool'))
      return []
    }
    const isTransition = program.variables.has('oldSelf')
    if (isTransition && !isCorrelated) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${field}`
      this.errors.push(invalid(`${field}.rule`, rule.rule, detail))
    }
    if (rule.optionalOldSelf !== undefined && !isTransition) {
      this.errors.push(
        invalid(
          `${field}.optionalOldSelf`,
          rule.optionalOldSelf,
          'may not be set if oldSelf is not used in rule',
        ),
      )
    }
    const cost = { field: `${field}.rule`, cost: ruleCost(program, place) }
    this.costs.push(cost)
    this.errors.push(...validateRuleCost(cost))
    const messageProgram = this.#compileMessage(rule, place, { field, environment })
    return [{ rule, program, messageProgram, isTransition }]
  }

  #compileMessage(
    { messageExpression }: ValidationRule,
    place: SchemaPlace,
    {
      field,
      environment,
    }: { readonly field: string; readonly environment: ReturnType<typeof ruleEnvironment> },
  ): Program | undefined {
    if (!messageExpression) return undefined
    const program = compileExpression(messageExpression, environment)
    const messageField = `${field}.messageExpression`
    if (program instanceof InvalidExpression) {
      this.errors.push(invalid(messageField, messageExpression, program.message))
      return undefined
    }
    if (program.type.kind !== stringType.kind && program.type.kind !== 'dyn') {
      this.errors.push(
        invalid(messageField, messageExpression, 'messageExpression must evaluate to a string'),
      )
      return undefined
    }
    const cost = { field: messageField, cost: messageExpressionCost(program, place) }
    this.costs.push(cost)
    this.errors.push(...validateMessageExpressionCost(cost))
    return program
  }
}

function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function selfType(schema: JSONSchemaProps, isRoot: boolean): Type | undefined {
  return ruleEnvironment(schema, { isRoot }).findName('self')?.type
}

interface Place {
  readonly value: JsonValue
  readonly old: JsonValue | undefined
  readonly path: string
}

interface Run {
  readonly budget: Budget
  readonly errors: FieldError[]
  isExhausted: boolean
}

function evaluate(node: RuleNode, place: Place, run: Run): void {
  const { value, old, path } = place
  if (run.isExhausted || value === null) return
  for (const rule of node.rules) evaluateRule(node, rule, { ...place, run })
  if (Array.isArray(value) && node.items) {
    const olds = correlateItems(node.schema, value, old)
    for (const [index, item] of value.entries()) {
      evaluate(node.items, { value: item, old: olds(index), path: `${path}[${index}]` }, run)
    }
  }
  if (!isObject(value)) return
  const olds = isObject(old) ? old : undefined
  for (const [name, property] of node.properties) {
    if (Object.hasOwn(value, name)) evaluate(property, memberPlace(name, `${path}.${name}`), run)
  }
  if (node.values) {
    for (const name of Object.keys(value)) evaluate(node.values, memberPlace(name, `${path}[${name}]`), run)
  }
  function memberPlace(name: string, memberPath: string): Place {
    const before = olds && Object.hasOwn(olds, name) ? olds[name] : undefined
    return {
      value: (value as JsonObject)[name] as JsonValue,
      old: before,
      path: memberPath.replace(/^\./, ''),
    }
  }
}

function evaluateRule(node: RuleNode, compiled: CompiledRule, place: Place & { readonly run: Run }): void {
  const { rule, program, isTransition } = compiled
  const { value, old, run } = place
  if (run.isExhausted || (isTransition && old === undefined && !rule.optionalOldSelf)) return
  const type = node.type
  if (type === undefined) return
  const variables = { self: fromJson(value, type), oldSelf: oldValue(old, type, rule) }
  try {
    const result = program.evaluate(variables, new Budget(expressionCostMax, run.budget))
    if (result === true) return
    // A rule that an unchanged value violates was added later.
    if (!isTransition && old !== undefined && equalJson(value, old)) return
    report(rule, { ...place, detail: messageOf(compiled, variables, run) })
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    if (run.budget.isExceeded) {
      run.isExhausted = true
      const detail =
        'validation failed due to running out of cost budget, no further validation rules will be run'
      run.errors.push(invalid(fieldOf(place.path), typeText(node.schema), detail))
      return
    }
    const detail = `${error.message} evaluating rule: ${rule.message?.trim() || rule.rule.trim()}`
    run.errors.push(invalid(fieldOf(place.path), typeText(node.schema), detail))
  }
}

function oldValue(old: JsonValue | undefined, type: Type, { optionalOldSelf }: ValidationRule): Value {
  if (!optionalOldSelf) return old === undefined ? null : fromJson(old, type)
  return old === undefined ? Optional.none : new Optional(fromJson(old, type))
}

/** The result of the message expression, or else the message, or the rule. */
function messageOf(
  { rule, messageProgram }: CompiledRule,
  variables: Readonly<Record<string, Value>>,
  run: Run,
): string {
  if (messageProgram === undefined) return describe(rule)
  try {
    const text = messageProgram.evaluate(variables, new Budget(expressionCostMax, run.budget))
    const isUsable = typeof text === 'string' && text.trim() !== '' && !/[\r\n]/.test(text)
    return isUsable ? text.trim() : describe(rule)
  } catch (error) {
    if (error instanceof EvaluationError) return describe(rule)
    throw error
  }
}

function describe({ message, rule }: ValidationRule): string {
  return message ? message.trim() : `failed rule: ${rule.trim()}`
}

interface Violation extends Place {
  readonly run: Run
  readonly detail: string
}

function report({ reason, fieldPath = '' }: ValidationRule, violation: Violation): void {
  const { path, run, detail } = violation
  const field = fieldOf(`${path}${fieldPath}`.replace(/^\./, ''))
  switch (reason) {
    case 'FieldValueForbidden':
      run.errors.push(forbiddenField(field, detail))
      break
    case 'FieldValueRequired':
      run.errors.push(required(field, detail))
      break
    case 'FieldValueDuplicate':
      run.errors.push({ reason, field, detail })
      break
    case 'FieldValueInvalid':
    case undefined:
      // The value is not shown: the message says what is wrong with it.
      run.errors.push({ reason: 'FieldValueInvalid', field, detail })
  }
}

/** Shown instead of the value when a rule cannot be evaluated. */
function typeText({ type = '' }: JSONSchemaProps): string {
  return type
}

function fieldOf(path: string): string {
  return path === '' ? '<nil>' : path
}
