/** Rules of PersistentVolumeClaim. */
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  VolumeResourceRequirements,
} from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { formatQuantity, quantityMilliValue } from '../../text/quantity.ts'
import { annotationOf } from '../../metadata.ts'
import { normalizeDataSources, dropUnsupportedDataSource } from './persistent-volume-claim/data-sources.ts'
import { validateClaimStatus } from './persistent-volume-claim/status-validation.ts'
import { storageClassAnnotation, validateClaimUpdate } from './persistent-volume-claim/update-validation.ts'
import { quantityOf } from '../../core/resource-amounts.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { withDefaults, withField } from '../../copy-on-write.ts'
import { validateVolumeClaimSpec } from '../pod/volume-claim-validation.ts'
import { withClaimSpecDefaults } from '../pod/volume-defaults.ts'

export const persistentVolumeClaimRules: KindRules<PersistentVolumeClaim> = {
  withDefaults: withClaimDefaults,
  prepareForCreate: claim => ({
    ...withField(claim, 'spec', spec => normalizeDataSources(dropUnsupportedDataSource(spec, undefined))),
    status: { phase: 'Pending' },
  }),
  prepareForUpdate: (claim, old) =>
    withField(claim, 'spec', spec => {
      return normalizeDataSources(dropUnsupportedDataSource(spec, old.spec))
    }),
  validate: claim => validateVolumeClaimSpec('spec', claim.spec ?? {}),
  validateUpdate: (claim, old) => [
    ...validateVolumeClaimSpec('spec', claim.spec ?? {}),
    ...validateClaimUpdate(claim, old),
  ],
  validateStatusUpdate: validateClaimStatus,
  warnings: warningsForClaim,
  returnDeletedObject: true,
}

function withClaimDefaults(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const spec = withClaimSpecDefaults(claim.spec ?? {})
  const phased = withDefaults(claim.status ?? {}, { phase: 'Pending' })
  const status = withField(withField(phased, 'capacity', roundUp), 'allocatedResources', roundUp)
  return spec === claim.spec && status === claim.status ? claim : { ...claim, spec, status }
}

function warningsForClaim(claim: PersistentVolumeClaim): string[] {
  const warnings = warningsForFractions(claim.spec ?? {})
  if (annotationOf(claim, storageClassAnnotation) === undefined) return warnings
  const advice = 'deprecated since v1.8; use "storageClassName" attribute instead'
  return [`metadata.annotations[${storageClassAnnotation}]: ${advice}`, ...warnings]
}

/** Warns about quantities that are not a whole number of bytes. */
function warningsForFractions({ resources = {} }: PersistentVolumeClaimSpec): string[] {
  const kinds: readonly (keyof VolumeResourceRequirements)[] = ['requests', 'limits']
  return kinds.flatMap(kind => {
    const amount = quantityOf(resources[kind]?.['storage'] ?? '0')
    if (quantityMilliValue(amount) % 1_000n === 0n) return []
    const field = `spec.resources.${kind}[storage]`
    return [`${field}: fractional byte value "${formatQuantity(amount)}" is invalid, must be an integer`]
  })
}
