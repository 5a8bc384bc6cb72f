/** Rules of MutatingAdmissionPolicy. */
import { invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { MutatingAdmissionPolicy, Mutation } from '../../generated/admissionregistration/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateChoice } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validatePolicy, withPolicyDefaults } from './policy.ts'
import { warningsForReservedName } from './reserved-name.ts'
import { validateMutatingOperations } from './resource-rules.ts'
import { reinvocationPolicies } from './webhook-configuration.ts'

export const mutatingAdmissionPolicyRules: KindRules<MutatingAdmissionPolicy> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  withDefaults: withSpecDefaults,
  validate: validateMutatingPolicy,
  validateUpdate: validateMutatingPolicy,
  warnings: warningsForReservedName,
}

function withSpecDefaults(policy: MutatingAdmissionPolicy): MutatingAdmissionPolicy {
  const spec = withPolicyDefaults(policy.spec ?? {})
  return spec === policy.spec ? policy : { ...policy, spec }
}

function validateMutatingPolicy({ spec = {} }: Unchecked<MutatingAdmissionPolicy>): FieldError[] {
  const { mutations = [], matchConstraints, reinvocationPolicy } = spec
  return [
    ...validatePolicy(spec),
    ...validateMutatingOperations('spec.matchConstraints.resourceRules', matchConstraints?.resourceRules),
    ...(mutations.length > 0 ? [] : [required('spec.mutations', 'mutations must contain at least one item')]),
    ...mutations.flatMap((mutation, index) => validateMutation(`spec.mutations[${index}]`, mutation)),
    ...validateChoice('spec.reinvocationPolicy', reinvocationPolicy, reinvocationPolicies),
  ]
}

/** The field required by each patch type. */
const fieldOfType = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const

function validateMutation(field: string, mutation: Unchecked<Mutation>): FieldError[] {
  const { patchType = '' } = mutation
  if (patchType === '') return [required(`${field}.patchType`, '')]
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch') {
    return [notSupported(`${field}.patchType`, patchType, Object.keys(fieldOfType))]
  }
  const name = fieldOfType[patchType]
  const other = name === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch'
  const patch = mutation[name]
  const errors: FieldError[] = []
  if (!patch) errors.push(required(`${field}.${name}`, `must be specified when patchType is ${patchType}`))
  else if ((patch.expression ?? '').trim() === '') errors.push(required(`${field}.${name}.expression`, ''))
  if (!mutation[other]) return errors
  const detail = `must not be specified when patchType is ${patchType}`
  return [...errors, invalid(`${field}.${other}`, `{${other}}`, detail)]
}
