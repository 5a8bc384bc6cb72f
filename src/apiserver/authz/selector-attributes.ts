/**
 * Converts the selectors of a request to requirements for authorizers. Requirements are ANDed, so dropping
 * one that cannot be parsed widens the request and never narrows it.
 */
import { parseFieldSelector } from '#/api/selectors/field-selector.ts'
import type { FieldSelectorAttributes, LabelSelectorAttributes } from '#/api/generated/authorization/v1.ts'
import type { FieldSelectorRequirement, LabelSelectorRequirement } from '#/api/generated/meta/v1.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import { valid, type Operator } from '#/api/selectors/selector.ts'

export interface Requirements<T> {
  readonly requirements: readonly T[]
  /** True if parts of the selector could not be parsed and were dropped. */
  readonly isPartial: boolean
}

export function fieldRequirements(
  selector: FieldSelectorAttributes = {},
): Requirements<FieldSelectorRequirement> {
  const { rawSelector, requirements = [] } = selector
  if (!rawSelector) return eachUnderstood(requirements, knownField)
  return parsed(() =>
    parseFieldSelector(rawSelector).requirements.map(({ field: key, operator, value }) => {
      return { key, operator: operator === '=' ? 'In' : 'NotIn', values: [value] }
    }),
  )
}

export function labelRequirements(
  selector: LabelSelectorAttributes = {},
): Requirements<LabelSelectorRequirement> {
  const { rawSelector, requirements = [] } = selector
  if (!rawSelector) return eachUnderstood(requirements, knownLabel)
  return parsed(() =>
    parseSelector(rawSelector).requirements.flatMap(({ key, operator, values }) => {
      const named = operatorNames.get(operator)
      return named === undefined ? [] : [{ key, operator: named, ...(values.length > 0 && { values }) }]
    }),
  )
}

/** Numeric comparisons have no operator in the API. */
const operatorNames: ReadonlyMap<Operator, string> = new Map<Operator, string>([
  ['in', 'In'],
  ['=', 'In'],
  ['==', 'In'],
  ['notin', 'NotIn'],
  ['!=', 'NotIn'],
  ['exists', 'Exists'],
  ['!', 'DoesNotExist'],
])

const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

function parsed<T>(parse: () => readonly T[]): Requirements<T> {
  try {
    return { requirements: parse(), isPartial: false }
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    return { requirements: [], isPartial: true }
  }
}

function eachUnderstood<T>(
  requirements: readonly T[],
  isUnderstood: (requirement: T) => boolean,
): Requirements<T> {
  const understood = requirements.filter(isUnderstood)
  return { requirements: understood, isPartial: understood.length < requirements.length }
}

/** Field selectors compare with exactly one value. */
function knownField({ operator, values = [] }: FieldSelectorRequirement): boolean {
  return (operator === 'In' || operator === 'NotIn') && values.length === 1
}

function knownLabel({ key, operator: name, values = [] }: LabelSelectorRequirement): boolean {
  const operator = operators.get(name)
  if (operator === undefined) return false
  try {
    valid({ key, operator, values })
    return true
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}
