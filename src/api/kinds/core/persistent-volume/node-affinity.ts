/**
 * Validation of the node affinity of a volume. It is immutable once set, except for replacing beta node
 * labels by their GA names.
 */
import { invalid, required, type FieldError } from '../../../field-error.ts'
import type { NodeSelectorTerm, VolumeNodeAffinity } from '../../../generated/core/v1.ts'
import { semanticEqual } from '../../validation/semantic-equal.ts'
import { validateRequiredTerms } from '../../validation/selectors.ts'
import { mapCopyOnWrite, withField } from '../../../copy-on-write.ts'

export function validateNodeAffinity(field: string, affinity: VolumeNodeAffinity): FieldError[] {
  const node = affinity.required
  if (node === undefined) return [required(`${field}.required`, 'must specify required node constraints')]
  return validateRequiredTerms(`${field}.required`, node.nodeSelectorTerms)
}

export function validateNodeAffinityUpdate(
  field: string,
  affinity: VolumeNodeAffinity | undefined,
  old: VolumeNodeAffinity | undefined,
): FieldError[] {
  if (old === undefined || semanticEqual(affinity, old)) return []
  if (affinity !== undefined && semanticEqual(withStableLabels(affinity), withStableLabels(old))) return []
  return [invalid(field, affinity ?? null, 'field is immutable, except for updating from beta label to GA')]
}

/** GA names by beta node label. */
const stableLabels: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
])

function withStableLabels(affinity: VolumeNodeAffinity): VolumeNodeAffinity {
  return withField(affinity, 'required', node => {
    return withField(node, 'nodeSelectorTerms', terms => mapCopyOnWrite(terms, withStableKeys))
  })
}

function withStableKeys(term: NodeSelectorTerm): NodeSelectorTerm {
  return withField(term, 'matchExpressions', list =>
    mapCopyOnWrite(list, requirement => {
      const key = stableLabels.get(requirement.key)
      return key === undefined ? requirement : { ...requirement, key }
    }),
  )
}
