/**
 * Rules of Lease. Coordinated leader election is off, so its fields are dropped.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */
import { invalid, type FieldError } from '../../field-error.ts'
import type { Lease, LeaseSpec } from '../../generated/coordination/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withField, withoutField } from '../../copy-on-write.ts'

export const leaseRules: KindRules<Lease> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: withoutStrategy,
  prepareForUpdate: withoutStrategy,
  validate: validateLease,
  validateUpdate: validateLease,
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
