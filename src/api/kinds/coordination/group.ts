/** Rules and table columns of `coordination.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { Lease, LeaseSpec } from '../../generated/coordination/v1.ts'
import type { LeaseCandidate } from '../../generated/coordination/v1beta1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { invalid, type FieldError } from '../../field-error.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withField, withoutField } from '../../copy-on-write.ts'

/**
 * Coordinated leader election is off, so its fields are dropped.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */
export const leaseRules: KindRules<Lease> = {
  allowsUnqualifiedFinalizers: true,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  // Otherwise nodes would be taken for dead, and their pods evicted, because the store is full.
  updatesIgnoreQuota: true,
  prepareForCreate: withoutStrategy,
  prepareForUpdate: withoutStrategy,
  validate: validateLease,
  validateUpdate: validateLease,
}

export const coordinationRules: GroupRules = { Lease: leaseRules }

const leaseColumns: KindColumns<Lease> = {
  columns: [nameColumn, textColumn('Holder', 'Identity of the holder.'), ageColumn],
  cells: (lease: Unchecked<Lease>) => [nameOf(lease), lease.spec?.holderIdentity ?? '', ageOf(lease)],
}

const leaseCandidateColumns: KindColumns<LeaseCandidate> = {
  columns: [
    nameColumn,
    textColumn('LeaseName', 'Lease of the candidate.'),
    textColumn('BinaryVersion', 'Binary version.'),
    textColumn('EmulationVersion', 'Emulation version.'),
    ageColumn,
  ],
  cells: (candidate: Unchecked<LeaseCandidate>) => {
    const { leaseName = '', binaryVersion = '', emulationVersion = '' } = candidate.spec ?? {}
    return [nameOf(candidate), leaseName, binaryVersion, emulationVersion, ageOf(candidate)]
  },
}

export const coordinationColumns: GroupColumns = {
  Lease: leaseColumns,
  LeaseCandidate: leaseCandidateColumns,
}

function withoutStrategy(lease: Lease): Lease {
  return withField(lease, 'spec', spec =>
    withoutField<LeaseSpec, keyof LeaseSpec>(
      withoutField<LeaseSpec, keyof LeaseSpec>(spec, 'strategy'),
      'preferredHolder',
    ),
  )
}

function validateLease({ spec = {} }: Lease): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions } = spec
  const errors = validateNonNegative('spec.leaseTransitions', leaseTransitions)
  if (leaseDurationSeconds === undefined || leaseDurationSeconds > 0) return errors
  return [invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'), ...errors]
}
