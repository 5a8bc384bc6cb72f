/** Rules of CSIStorageCapacity. */
import type { FieldError } from '../../field-error.ts'
import type { CSIStorageCapacity } from '../../generated/storage/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { deprecatedNodeLabels } from '../validation/deprecated-node-labels.ts'
import { validateDnsSubdomain } from '../validation/field-checks.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { validateSelector } from '../validation/selectors.ts'
import { validateNonNegativeQuantity } from '../validation/resource-quantities.ts'

export const csiStorageCapacityRules: KindRules<CSIStorageCapacity> = {
  validate: validateCapacity,
  validateUpdate: (capacity, old) => [
    ...validateCapacity(capacity),
    ...(semanticEqual(capacity.nodeTopology, old.nodeTopology)
      ? []
      : validateImmutable(capacity.nodeTopology, old.nodeTopology, 'nodeTopology')),
    ...validateImmutable(capacity.storageClassName ?? '', old.storageClassName ?? '', 'storageClassName'),
  ],
  warnings: warningsForCapacity,
  allowUnconditionalUpdate: false,
}

function validateCapacity(given: CSIStorageCapacity): FieldError[] {
  const { nodeTopology, capacity } = given
  return [
    ...validateSelector('nodeTopology', nodeTopology),
    ...validateDnsSubdomain('storageClassName', given.storageClassName ?? ''),
    ...(capacity === undefined ? [] : validateNonNegativeQuantity('capacity', capacity)),
  ]
}

function warningsForCapacity({ nodeTopology }: CSIStorageCapacity): string[] {
  const { matchExpressions = [], matchLabels = {} } = nodeTopology ?? {}
  const warnings = matchExpressions.flatMap(({ key }, index) => {
    const advice = deprecatedNodeLabels.get(key)
    return advice === undefined ? [] : [`nodeTopology.matchExpressions[${index}].key: ${key} is ${advice}`]
  })
  return [
    ...warnings,
    ...Object.keys(matchLabels).flatMap(label => {
      const advice = deprecatedNodeLabels.get(label)
      return advice === undefined ? [] : [`nodeTopology.matchLabels.${label}: ${advice}`]
    }),
  ]
}
