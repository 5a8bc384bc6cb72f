/**
 * Node selectors of node affinity and volumes: terms are ORed, the requirements of a term are ANDed, on
 * labels (`matchExpressions`) or the name (`matchFields`). A term without requirements matches no node, and
 * neither does an invalid one: validation rejects it, and it must never place a pod on the wrong node.
 */
import { invalid, invalidEach, required, type FieldError } from '../field-error.ts'
import { validateLabelName, type Labels } from '../labels.ts'
import type { KubernetesObject } from '../metadata.ts'
import { checkDns1123Subdomain } from '../names.ts'
import { selectorOf, valid, validateRequirement, validateValues, type Operator } from './selector.ts'
import { SelectorError } from './selector-error.ts'

export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[]
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[]
  readonly matchFields?: readonly NodeSelectorRequirement[]
}

export interface NodeSelectorRequirement {
  readonly key: string
  /** `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`. */
  readonly operator: string
  readonly values?: readonly string[]
}

export type NodeTest = (node: KubernetesObject) => boolean

export function compileNodeSelector(selector: NodeSelector): NodeTest {
  const terms = selector.nodeSelectorTerms.map(compileNodeSelectorTerm)
  return node => terms.some(holds => holds(node))
}

export function compileNodeSelectorTerm(term: NodeSelectorTerm): NodeTest {
  const { matchExpressions = [], matchFields = [] } = term
  if (matchExpressions.length === 0 && matchFields.length === 0) return () => false
  const labelsHold = compileExpressions(matchExpressions)
  const fieldsHold = matchFields.map(compileField)
  return node => labelsHold(node.metadata.labels) && fieldsHold.every(holds => holds(node))
}

/** Validates required terms, including label values. */
export function validateNodeSelector(field: string, selector: NodeSelector): FieldError[] {
  const { nodeSelectorTerms } = selector
  const terms = `${field}.nodeSelectorTerms`
  if (nodeSelectorTerms.length === 0) return [required(terms, 'must have at least one node selector term')]
  return nodeSelectorTerms.flatMap((term, index) => {
    const values = (term.matchExpressions ?? []).flatMap((each, expressionIndex) => {
      return validateValues(`${terms}[${index}].matchExpressions[${expressionIndex}]`, each)
    })
    return validateNodeSelectorTerm(`${terms}[${index}]`, term).concat(values)
  })
}

/** Validates a preferred term: label values are not checked, since they need not exist. */
export function validateNodeSelectorTerm(field: string, term: NodeSelectorTerm): FieldError[] {
  const { matchExpressions = [], matchFields = [] } = term
  const expressionsField = `${field}.matchExpressions`
  return [
    ...matchExpressions.flatMap((each, index) => validateExpression(`${expressionsField}[${index}]`, each)),
    ...matchFields.flatMap((each, index) => validateField(`${field}.matchFields[${index}]`, each)),
  ]
}

const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
  ['Gt', 'gt'],
  ['Lt', 'lt'],
])

function compileExpressions(
  expressions: readonly NodeSelectorRequirement[],
): (labels: Labels | undefined) => boolean {
  try {
    const selector = selectorOf(
      expressions.map(({ key, operator: name, values = [] }) => {
        const operator = operators.get(name)
        if (operator === undefined) throw new SelectorError(`"${name}" is not a valid node selector operator`)
        return valid({ key, operator, values })
      }),
    )
    return labels => selector.matches(labels)
  } catch (error) {
    if (error instanceof SelectorError) return () => false
    throw error
  }
}

/** The only field supported in `matchFields`. */
const nameField = 'metadata.name'

function compileField({ key, operator, values = [] }: NodeSelectorRequirement): NodeTest {
  const [name] = values
  if (key !== nameField || values.length !== 1) return () => false
  if (operator === 'In') return node => node.metadata.name === name
  return operator === 'NotIn' ? node => node.metadata.name !== name : () => false
}

function validateExpression(field: string, requirement: NodeSelectorRequirement): FieldError[] {
  const { key, operator, values = [] } = requirement
  if (operator !== 'Gt' && operator !== 'Lt') return validateRequirement(field, requirement)
  const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
  const errors = values.length === 1 ? [] : [required(`${field}.values`, detail)]
  return [...errors, ...validateLabelName(`${field}.key`, key)]
}

function validateField(field: string, requirement: NodeSelectorRequirement): FieldError[] {
  const { key, operator, values = [] } = requirement
  const errors: FieldError[] = []
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(invalid(`${field}.operator`, operator, 'not a valid selector operator'))
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    errors.push(required(`${field}.values`, detail))
  }
  if (key !== nameField) return [...errors, invalid(`${field}.key`, key, 'not a valid field selector key')]
  return [
    ...errors,
    ...values.flatMap((value, index) => {
      return invalidEach(`${field}.values[${index}]`, value, checkDns1123Subdomain(value))
    }),
  ]
}
