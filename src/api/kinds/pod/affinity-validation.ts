/** Validation of node affinity, pod affinity and pod anti-affinity. */
import { forbiddenField, invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type { Affinity, NodeAffinity, PodAffinity, PodAffinityTerm } from '../../generated/core/v1.ts'
import { validateLabelName } from '../../labels.ts'
import { checkDns1123Label } from '../../names.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validatePreferredTerm, validateRequiredTerms, validateSelector } from '../validation/selectors.ts'

export function validateAffinity(
  field: string,
  { nodeAffinity, podAffinity, podAntiAffinity }: Affinity,
): FieldError[] {
  return [
    ...(nodeAffinity ? validateNodeAffinity(`${field}.nodeAffinity`, nodeAffinity) : []),
    ...(podAffinity ? validatePodAffinity(`${field}.podAffinity`, podAffinity) : []),
    ...(podAntiAffinity ? validatePodAffinity(`${field}.podAntiAffinity`, podAntiAffinity) : []),
  ]
}

function validateNodeAffinity(field: string, affinity: NodeAffinity): FieldError[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed } = affinity
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity
  const neededField = `${field}.requiredDuringSchedulingIgnoredDuringExecution`
  return [
    ...(needed ? validateRequiredTerms(neededField, needed.nodeSelectorTerms) : []),
    ...preferred.flatMap(({ weight, preference }, index) => {
      const place = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
      return [...validateWeight(place, weight), ...validatePreferredTerm(`${place}.preference`, preference)]
    }),
  ]
}

function validatePodAffinity(field: string, affinity: PodAffinity): FieldError[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed = [] } = affinity
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity
  return [
    ...needed.flatMap((term, index) => {
      return validateTerm(`${field}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, term)
    }),
    ...preferred.flatMap(({ weight, podAffinityTerm }, index) => {
      const place = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
      return [
        ...validateWeight(place, weight),
        ...validateTerm(`${place}.podAffinityTerm`, podAffinityTerm ?? {}),
      ]
    }),
  ]
}

function validateWeight(field: string, weight = 0): FieldError[] {
  return weight >= 1 && weight <= 100
    ? []
    : [invalid(`${field}.weight`, weight, 'must be in the range 1-100')]
}

function validateTerm(field: string, term: Partial<PodAffinityTerm>): FieldError[] {
  const { labelSelector, namespaceSelector, namespaces = [], topologyKey = '' } = term
  return [
    ...validateSelector(`${field}.labelSelector`, labelSelector),
    ...validateSelector(`${field}.namespaceSelector`, namespaceSelector),
    ...namespaces.flatMap(name => invalidEach(`${field}.namespace`, name, checkDns1123Label(name))),
    ...validateLabelKeys(field, term),
    ...(topologyKey === '' ? [required(`${field}.topologyKey`, 'can not be empty')] : []),
    ...validateLabelName(`${field}.topologyKey`, topologyKey),
  ]
}

interface LabelKeys {
  readonly labelSelector?: LabelSelector
  readonly matchLabelKeys?: readonly string[]
  readonly mismatchLabelKeys?: readonly string[]
}

/**
 * Validates `matchLabelKeys` and `mismatchLabelKeys`. For pods, the server has already merged them into the
 * label selector.
 */
export function validateLabelKeys(field: string, keys: LabelKeys): FieldError[] {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = keys
  const errors = [
    ...validateKeyList(`${field}.matchLabelKeys`, matchLabelKeys, labelSelector),
    ...validateKeyList(`${field}.mismatchLabelKeys`, mismatchLabelKeys, labelSelector),
  ]
  const positions = new Map(matchLabelKeys.map((key, index) => [key, index]))
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}))
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const position = positions.get(key)
    if (position !== undefined && selected.has(key)) {
      errors.push(invalid(`${field}[${position}]`, key, 'exists in both matchLabelKeys and labelSelector'))
    }
    selected.add(key)
  }
  const mismatched = new Set(mismatchLabelKeys)
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatched.has(key)) continue
    const detail = 'exists in both matchLabelKeys and mismatchLabelKeys'
    errors.push(invalid(`${field}.matchLabelKeys[${index}]`, key, detail))
  }
  return errors
}

function validateKeyList(
  field: string,
  keys: readonly string[],
  selector: LabelSelector | undefined,
): FieldError[] {
  if (keys.length === 0) return []
  if (selector === undefined) {
    return [forbiddenField(field, 'must not be specified when labelSelector is not set')]
  }
  return keys.flatMap((key, index) => validateLabelName(`${field}[${index}]`, key))
}
