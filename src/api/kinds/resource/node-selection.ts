/** Validation of node selection for devices: one node, a node selector, or all nodes. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { NodeSelector } from '../../generated/core/v1.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import type { NodeSelectorTerm } from '../../selectors/node-selector.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import { validateRequiredTerms } from '../validation/selectors.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export interface NodeSelection {
  readonly nodeName?: string
  readonly nodeSelector?: Unchecked<NodeSelector>
  readonly allNodes?: boolean
  readonly perDeviceNodeSelection?: boolean
}

export function validateNodes(field: string, { nodeSelectorTerms }: Unchecked<NodeSelector>): FieldError[] {
  return validateRequiredTerms(field, nodeSelectorTerms as readonly NodeSelectorTerm[] | undefined)
}

/** Exactly one of the alternatives must be set. */
export function validateOneSelection(
  field: string,
  selection: NodeSelection,
  details: { readonly none: string; readonly several: string },
): FieldError[] {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = selection
  const ways = [
    ...(nodeName ? ['`nodeName`'] : []),
    ...(nodeSelector ? ['`nodeSelector`'] : []),
    ...(allNodes ? ['`allNodes`'] : []),
    ...(perDeviceNodeSelection ? ['`perDeviceNodeSelection`'] : []),
  ]
  if (ways.length === 0) return [required(field, details.none)]
  return ways.length === 1 ? [] : [invalid(field, `{${ways.join(', ')}}`, details.several)]
}

/** Validates the alternatives that are set. */
export function validateSelection(field: string, selection: NodeSelection, emptyName: string): FieldError[] {
  const { nodeName, nodeSelector } = selection
  const isEmpty = nodeName === ''
  const flags = ['allNodes', 'perDeviceNodeSelection'] as const
  return [
    ...(isEmpty ? [invalid(`${field}.nodeName`, nodeName, emptyName)] : []),
    ...(nodeName ? validateRequiredName(`${field}.nodeName`, nodeName, checkDns1123Subdomain) : []),
    ...(nodeSelector ? validateNodes(`${field}.nodeSelector`, nodeSelector) : []),
    ...flags
      .filter(name => selection[name] === false)
      .map(name => {
        return invalid(`${field}.${name}`, false, 'must be either unset or set to true')
      }),
  ]
}
