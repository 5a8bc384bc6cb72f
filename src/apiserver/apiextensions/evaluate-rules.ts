/** Evaluates the CEL rules of a schema on every value that a rule belongs to. */
import { correlateItems } from '#/api/custom-resources/correlate-items.ts'
import { duplicate, forbiddenField, invalid, required, type FieldError } from '#/api/field-error.ts'
import type { ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import { Budget, expressionCostMax } from '#/cel/cost.ts'
import { EvaluationError } from '#/cel/evaluation-error.ts'
import { fromJson } from '#/cel/json.ts'
import type { Type } from '#/cel/type.ts'
import { Optional, type Value } from '#/cel/value.ts'
import { schemaRulesOf, type CompiledRule, type RuleNode } from './validation-rules.ts'

/** Cost limit of all rules for one object. */
export const objectCostMax = 10_000_000

/** The violations of the rules of a custom resource. `old` is the stored object, undefined for a new one. */
export function evaluateObjectRules(
  node: RuleNode,
  value: JsonObject,
  old: JsonObject | undefined,
): FieldError[] {
  return evaluateRules(node, { value, old, ratchets: true, budget: new Budget(objectCostMax) })
}

export interface RuleSubject {
  readonly value: JsonValue
  /** The stored value; undefined if the value is new. */
  readonly old: JsonValue | undefined
  /** Ignores violations by unchanged values: the rule was added later (ratcheting). */
  readonly ratchets: boolean
  readonly budget: Budget
}

/** The violations of rules. Their fields are relative to the value; that of the value itself is `<nil>`. */
export function evaluateRules(node: RuleNode, { value, old, ratchets, budget }: RuleSubject): FieldError[] {
  const run: Run = { budget, ratchets, errors: [], isStopped: false }
  const isUnchanged = () => old !== undefined && equalJson(value, old)
  evaluate(run, node, { value, old, path: '', isUnchanged })
  return run.errors
}

interface Run {
  readonly budget: Budget
  readonly ratchets: boolean
  readonly errors: FieldError[]
  /** A cost limit was exceeded. */
  isStopped: boolean
}

interface Place {
  readonly value: JsonValue
  readonly old: JsonValue | undefined
  readonly path: string
  /** True if the value, or else the innermost value around it that has a stored counterpart, equals it. */
  readonly isUnchanged: () => boolean
}

function evaluate(run: Run, node: RuleNode, place: Place): void {
  const { value, old, path } = place
  if (run.isStopped || value === null) return
  if (node.schema['x-kubernetes-validations']?.length) evaluateHere(run, node, place)
  if (Array.isArray(value) && node.items) {
    const olds = correlateItems(node.schema, value, old)
    for (const [index, item] of value.entries()) {
      evaluate(run, node.items, childOf(place, { value: item, old: olds(index), path: `${path}[${index}]` }))
    }
  }
  if (!isObject(value)) return
  const olds = isObject(old) ? old : {}
  const member = (name: string, memberPath: string): Place => {
    const before = Object.hasOwn(olds, name) ? olds[name] : undefined
    return childOf(place, { value: value[name] as JsonValue, old: before, path: memberPath })
  }
  if (node.values) {
    for (const name of Object.keys(value)) evaluate(run, node.values, member(name, `${path}[${name}]`))
  }
  for (const [name, property] of node.properties) {
    const memberPath = path === '' ? name : `${path}.${name}`
    if (Object.hasOwn(value, name)) evaluate(run, property, member(name, memberPath))
  }
}

function childOf(parent: Place, child: Omit<Place, 'isUnchanged'>): Place {
  const { value, old } = child
  if (old === undefined) return { ...child, isUnchanged: parent.isUnchanged }
  return { ...child, isUnchanged: () => parent.isUnchanged() || equalJson(value, old) }
}

function evaluateHere(run: Run, node: RuleNode, place: Place): void {
  const rules = schemaRulesOf(node)
  const subject = { ...place, type: rules.type, schemaType: node.schema.type ?? '' }
  for (let index = 0; index < rules.length && !run.isStopped; index++) {
    evaluateRule(run, rules.at(index), subject)
  }
}

interface Subject extends Place {
  readonly type: Type
  /** The `type` in the schema, shown instead of the value if a rule cannot be evaluated. */
  readonly schemaType: string
}

function evaluateRule(run: Run, compiled: CompiledRule, subject: Subject): void {
  const { rule, program, isTransition } = compiled
  const { value, old, type, path, schemaType } = subject
  const fail = (detail: string) => run.errors.push(invalid(fieldOf(path), schemaType, detail))
  if (program instanceof InvalidExpression) {
    fail(`rule compile error: ${program.message}`)
    return
  }
  if (isTransition && old === undefined && !rule.optionalOldSelf) return
  try {
    const oldSelf = isTransition ? oldSelfOf(old, type, rule) : null
    const variables = { self: fromJson(value, type), oldSelf }
    if (program.evaluate(variables, new Budget(expressionCostMax, run.budget)) === true) return
    const message = messageOf(compiled, variables, run)
    run.isStopped = !message.isComplete
    if (run.ratchets && !isTransition && subject.isUnchanged()) return
    if (message.isComplete) run.errors.push(violation(rule, subject, message.detail))
    else fail(message.detail)
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    run.isStopped = error.reason === 'cost'
    fail(describeFailure(error, rule, run))
  }
}

function oldSelfOf(old: JsonValue | undefined, type: Type, { optionalOldSelf }: ValidationRule): Value {
  if (!optionalOldSelf) return fromJson(old ?? null, type)
  return old === undefined ? Optional.none : new Optional(fromJson(old, type))
}

function describeFailure(error: EvaluationError, rule: ValidationRule, { budget }: Run): string {
  if (budget.isExceeded) {
    return 'validation failed due to running out of cost budget, no further validation rules will be run'
  }
  const subject = rule.message?.trim() || rule.rule.trim()
  if (error.reason === 'cost') {
    const end = 'no further validation rules will be run due to call cost exceeds limit for rule'
    return `'${error.message}': ${end}: ${subject}`
  }
  if (error.message.startsWith('no such overload')) {
    const mismatch = 'call arguments did not match a supported operator, function or macro signature for rule'
    return `'${error.message}': ${mismatch}: ${subject}`
  }
  return `${error.message} evaluating rule: ${subject}`
}

interface Message {
  readonly detail: string
  /** False if a cost limit was exceeded. */
  readonly isComplete: boolean
}

/** Limit of the text that a message expression returns. */
const messageBytesMax = 5 * 1_024

/** The result of the message expression, or else the message, or the rule. */
function messageOf(
  { rule, message }: CompiledRule,
  variables: Readonly<Record<string, Value>>,
  { budget }: Run,
): Message {
  const fallback = { detail: rule.message?.trim() || `failed rule: ${rule.rule.trim()}`, isComplete: true }
  if (message === undefined || message instanceof InvalidExpression) return fallback
  try {
    const result = message.evaluate(variables, new Budget(expressionCostMax, budget))
    const text = typeof result === 'string' ? result.trim() : ''
    const isUsable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageBytesMax
    return isUsable ? { detail: text, isComplete: true } : fallback
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    return error.reason === 'fault' ? fallback : { detail: costMessage(rule, budget), isComplete: false }
  }
}

function costMessage({ messageExpression = '' }: ValidationRule, { isExceeded }: Budget): string {
  const end = 'no further validation rules will be run'
  if (isExceeded) return `messageExpression evaluation failed due to running out of cost budget, ${end}`
  return `${end} due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`
}

/** Of objects and lists only the field is shown. */
function violation({ reason, fieldPath = '' }: ValidationRule, subject: Subject, detail: string): FieldError {
  const field = fieldOf(`${subject.path}${fieldPath}`.replace(/^\./, ''))
  const shown = isObject(subject.value) || Array.isArray(subject.value) ? undefined : subject.value
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(field, detail)
    case 'FieldValueRequired':
      return required(field, detail)
    case 'FieldValueDuplicate':
      return shown === undefined ? { reason, field, detail: '' } : duplicate(field, shown)
    case undefined:
    default:
      return shown === undefined
        ? { reason: 'FieldValueInvalid', field, detail }
        : invalid(field, shown, detail)
  }
}

function fieldOf(path: string): string {
  return path === '' ? '<nil>' : path
}
