/** Validation of selectors inside pods, in which required fields may be missing. */
import type { FieldError } from '../../field-error.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateLabelSelector } from '../../selectors/selector.ts'
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../selectors/node-selector.ts'
import { validateNodeSelector, validateNodeSelectorTerm } from '../../selectors/node-selector.ts'

export function validateSelector(field: string, selector: LabelSelector | undefined): FieldError[] {
  if (selector?.matchExpressions === undefined) return validateLabelSelector(field, selector)
  return validateLabelSelector(field, {
    ...selector,
    matchExpressions: selector.matchExpressions.map(completed),
  })
}

/** Validates required node affinity terms. */
export function validateRequiredTerms(
  field: string,
  terms: readonly NodeSelectorTerm[] | undefined,
): FieldError[] {
  return validateNodeSelector(field, { nodeSelectorTerms: (terms ?? []).map(completedTerm) })
}

/** Validates a preferred node affinity term. */
export function validatePreferredTerm(field: string, term: NodeSelectorTerm | undefined): FieldError[] {
  return validateNodeSelectorTerm(field, completedTerm(term ?? {}))
}

function completedTerm({ matchExpressions, matchFields }: NodeSelectorTerm): NodeSelectorTerm {
  return {
    ...(matchExpressions && { matchExpressions: matchExpressions.map(completed) }),
    ...(matchFields && { matchFields: matchFields.map(completed) }),
  }
}

function completed(requirement: NodeSelectorRequirement): NodeSelectorRequirement {
  return { ...requirement, key: requirement.key ?? '', operator: requirement.operator ?? '' }
}
