import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import type { Operator, Requirement } from '#/api/selectors/selector.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { sortedMap } from './generated-object.ts'

/** The LabelSelector for a selector as users write it: `app=web,tier in (a,b)`. Throws Error. */
export function parseLabelSelector(text: string): JsonObject {
  const matchLabels: Record<string, string> = {}
  const matchExpressions: JsonObject[] = []
  for (const { key, operator, values } of requirementsIn(text)) {
    if (operator === '=' || operator === '==') {
      matchLabels[key] = values[0] ?? ''
      continue
    }
    const unique = [...new Set(values)].toSorted()
    const hasValues = operator === 'in' || operator === 'notin'
    matchExpressions.push({
      key,
      operator: expressionOperator(operator),
      ...(hasValues && { values: unique }),
    })
  }
  return {
    ...(Object.keys(matchLabels).length > 0 && { matchLabels: sortedMap(matchLabels) }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  }
}

function requirementsIn(text: string): readonly Requirement[] {
  try {
    return parseSelector(text).requirements
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    throw new Error(`couldn't parse the selector string "${text}": ${error.message}`, { cause: error })
  }
}

function expressionOperator(operator: Operator): string {
  const names: Partial<Record<Operator, string>> = {
    'in': 'In',
    'notin': 'NotIn',
    'exists': 'Exists',
    '!': 'DoesNotExist',
  }
  const name = names[operator]
  if (name !== undefined) return name
  if (operator === 'gt' || operator === 'lt') {
    throw new Error(`${quote(operator)} isn't supported in label selectors`)
  }
  throw new Error(`${quote(operator)} is not a valid label selector operator`)
}
