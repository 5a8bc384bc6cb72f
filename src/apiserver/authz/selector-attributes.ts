/**
 * The selectors of a request as requirements that authorizers can look at. All of them must hold, so leaving out
 * one that is not understood asks for more than was meant, never for less.
 */
import { parseFieldSelector } from '#/api/field-selector.ts'
import type { FieldSelectorAttributes, LabelSelectorAttributes } from '#/api/generated/authorization/v1.ts'
import type { FieldSelectorRequirement, LabelSelectorRequirement } from '#/api/generated/meta/v1.ts'
import { parseSelector } from '#/api/parse-selector.ts'
import { SelectorError } from '#/api/selector-error.ts'
import { valid, type Operator } from '#/api/selector.ts'

export interface Requirements<T> {
  readonly requirements: readonly T[]
  /** Something of the selector was not understood and is left out. */
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

/** Comparisons of numbers have no name in the API. */
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

/** Fields are compared with one value. */
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
