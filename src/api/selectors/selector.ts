/**
 * Label selectors, in string form (`app=web,tier in (a,b),!old`) or as a `LabelSelector` object; both are
 * compiled into a `Selector` for fast matching. A selector without requirements matches everything; an absent
 * `LabelSelector` matches nothing.
 */
import {
  forbiddenField,
  formatFieldErrors,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../field-error.ts'
import { compareInt64, parseInt64 } from '../text/int64.ts'
import { labelOf, validateLabelName, validateLabels, type Labels } from '../labels.ts'
import { checkLabelValue, checkQualifiedName } from '../names.ts'
import { quote } from '../text/quote.ts'
import { SelectorError } from './selector-error.ts'

export interface LabelSelector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly LabelSelectorRequirement[]
}

export interface LabelSelectorRequirement {
  readonly key: string
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string
  readonly values?: readonly string[]
}

/** One requirement; a selector is the conjunction of its requirements. */
export interface Requirement {
  readonly key: string
  readonly operator: Operator
  readonly values: readonly string[]
}

const operators = ['in', 'notin', '=', '==', '!=', 'gt', 'lt', 'exists', '!'] as const

export type Operator = (typeof operators)[number]

type LabelTest = (labels: Labels | undefined) => boolean

export class Selector {
  /** Sorted by key. */
  readonly requirements: readonly Requirement[]
  /** True for an absent `LabelSelector`; there are no requirements then. */
  readonly selectsNothing: boolean
  readonly #tests: readonly LabelTest[]

  constructor(requirements: readonly Requirement[], selectsNothing = false) {
    this.requirements = requirements
    this.selectsNothing = selectsNothing
    this.#tests = selectsNothing ? [() => false] : requirements.map(compile)
  }

  /** True if it matches everything. */
  get isEmpty(): boolean {
    return this.#tests.length === 0
  }

  matches(labels: Labels | undefined): boolean {
    for (const test of this.#tests) if (!test(labels)) return false
    return true
  }

  /** The value that the label must equal, if any. */
  requiresExact(key: string): string | undefined {
    const requirement = this.requirements.find(each => each.key === key)
    if (requirement === undefined || requirement.values.length !== 1) return undefined
    return isInclusion(requirement.operator) ? requirement.values[0] : undefined
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',')
  }
}

export const everything = new Selector([])
export const nothing = new Selector([], true)

/** Creates a selector from valid requirements. */
export function selectorOf(requirements: readonly Requirement[]): Selector {
  return requirements.length === 0 ? everything : new Selector(requirements.toSorted(byKey))
}

/**
 * Matches objects that have all these labels, without validating them: for a Service selector or a node
 * selector.
 */
export function selectorFromLabels(labels: Labels | undefined): Selector {
  return selectorOf(equalities(labels))
}

/** Cache of compiled selectors, keyed by the immutable selector object. */
const compiled = new WeakMap<LabelSelector, Selector>()

/** Throws SelectorError if it is invalid. */
export function compileLabelSelector(selector: LabelSelector | undefined): Selector {
  if (selector === undefined) return nothing
  const known = compiled.get(selector)
  if (known !== undefined) return known
  const made = selectorOf([
    ...equalities(selector.matchLabels).map(valid),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
      return valid({ key, operator: toOperator(operator), values })
    }),
  ])
  compiled.set(selector, made)
  return made
}

/** Formats a selector for tables. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  try {
    return compileLabelSelector(selector).toString() || '<none>'
  } catch (error) {
    if (error instanceof SelectorError) return '<error>'
    throw error
  }
}

export function validateLabelSelector(field: string, selector: LabelSelector | undefined): FieldError[] {
  return [
    ...validateLabels(`${field}.matchLabels`, selector?.matchLabels),
    ...(selector?.matchExpressions ?? []).flatMap((requirement, index) => {
      const at = `${field}.matchExpressions[${index}]`
      return [...validateRequirement(at, requirement), ...validateValues(at, requirement)]
    }),
  ]
}

/** Returns the requirement; throws SelectorError if it is invalid. */
export function valid(requirement: Requirement): Requirement {
  const errors = checkRequirement(requirement)
  if (errors.length > 0) throw new SelectorError(formatFieldErrors(errors))
  return requirement
}

/** `field` is `key` for requirements of a parsed selector, which have no path. */
export function validateKey(field: string, key: string): FieldError[] {
  const messages = checkQualifiedName(key)
  return messages.length === 0 ? [] : [invalid(field, key, messages.join('; '))]
}

/** Validates everything but the values, which preferred node selector terms do not restrict. */
export function validateRequirement(field: string, requirement: LabelSelectorRequirement): FieldError[] {
  const { key, operator, values = [] } = requirement
  const errors: FieldError[] = []
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'"
    if (values.length === 0) errors.push(required(`${field}.values`, detail))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    if (values.length > 0) errors.push(forbiddenField(`${field}.values`, detail))
  } else {
    errors.push(invalid(`${field}.operator`, operator, 'not a valid selector operator'))
  }
  return [...errors, ...validateLabelName(`${field}.key`, key)]
}

export function validateValues(field: string, { values = [] }: LabelSelectorRequirement): FieldError[] {
  return values.flatMap((value, index) => {
    return invalidEach(`${field}.values[${index}]`, value, checkLabelValue(value))
  })
}

function toOperator(operator: string): Operator {
  switch (operator) {
    case 'In':
      return 'in'
    case 'NotIn':
      return 'notin'
    case 'Exists':
      return 'exists'
    case 'DoesNotExist':
      return '!'
    default:
      throw new SelectorError(`${quote(operator)} is not a valid label selector operator`)
  }
}

function checkRequirement({ key, operator, values }: Requirement): FieldError[] {
  const errors = [...validateKey('key', key), ...checkValueCount(operator, values)]
  for (const [index, value] of values.entries()) {
    const messages = checkLabelValue(value)
    if (messages.length > 0) errors.push(invalid(`values[${index}][${key}]`, value, messages.join('; ')))
  }
  return errors
}

function checkValueCount(operator: Operator, values: readonly string[]): FieldError[] {
  const refuse = (detail: string): FieldError[] => [invalid('values', values, detail)]
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length > 0 ? [] : refuse("for 'in', 'notin' operators, values set can't be empty")
    case '=':
    case '==':
    case '!=':
      return values.length === 1 ? [] : refuse('exact-match compatibility requires one single value')
    case 'exists':
    case '!':
      return values.length === 0 ? [] : refuse('values set must be empty for exists and does not exist')
    case 'gt':
    case 'lt':
      return [
        ...(values.length === 1 ? [] : refuse("for 'Gt', 'Lt' operators, exactly one value is required")),
        ...values.flatMap((value, index) =>
          parseInt64(value) === undefined
            ? [invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer")]
            : [],
        ),
      ]
    default:
      return [notSupported('operator', operator, operators)]
  }
}

function equalities(labels: Labels | undefined): Requirement[] {
  return Object.entries(labels ?? {}).map(([key, value]) => ({ key, operator: '=', values: [value] }))
}

function byKey(a: Requirement, b: Requirement): number {
  if (a.key === b.key) return 0
  return a.key < b.key ? -1 : 1
}

function isInclusion(operator: Operator): boolean {
  return operator === 'in' || operator === '=' || operator === '=='
}

function compile({ key, operator, values }: Requirement): LabelTest {
  if (operator === 'exists') return labels => labelOf(labels, key) !== undefined
  if (operator === '!') return labels => labelOf(labels, key) === undefined
  if (operator === 'gt') return compileComparison(key, values, 1)
  if (operator === 'lt') return compileComparison(key, values, -1)
  const [single] = values
  const set = new Set(values)
  if (isInclusion(operator)) {
    if (values.length === 1) return labels => labelOf(labels, key) === single
    return labels => {
      const value = labelOf(labels, key)
      return value !== undefined && set.has(value)
    }
  }
  if (values.length === 1) return labels => labelOf(labels, key) !== single
  return labels => {
    const value = labelOf(labels, key)
    return value === undefined || !set.has(value)
  }
}

function compileComparison(key: string, values: readonly string[], wanted: number): LabelTest {
  const limit = parseInt64(values[0] ?? '')
  return labels => {
    const value = parseInt64(labelOf(labels, key) ?? '')
    return value !== undefined && limit !== undefined && compareInt64(value, limit) === wanted
  }
}

function formatRequirement({ key, operator, values }: Requirement): string {
  if (operator === 'exists') return key
  if (operator === '!') return `!${key}`
  if (operator === 'in' || operator === 'notin') return `${key} ${operator} (${values.toSorted().join(',')})`
  const sign = operator === 'gt' ? '>' : operator
  return `${key}${sign === 'lt' ? '<' : sign}${values.join(',')}`
}
