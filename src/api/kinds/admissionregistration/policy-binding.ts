/** Rules of ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding. */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../../field-error.ts'
import type {
  MatchResources,
  MutatingAdmissionPolicyBinding,
  MutatingAdmissionPolicyBindingSpec,
  ParamRef,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicyBindingSpec,
} from '../../generated/admissionregistration/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkDns1123Subdomain, checkPathSegmentName } from '../../names.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateChoice, validateRequiredName } from '../validation/field-checks.ts'
import { validateSelector } from '../validation/selectors.ts'
import { withField } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateMatchResources, withMatchDefaults } from './match-resources.ts'
import { warningsForReservedName } from './reserved-name.ts'
import { validateMutatingOperations } from './resource-rules.ts'

const shared = {
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  warnings: warningsForReservedName,
} as const

export const validatingAdmissionPolicyBindingRules: KindRules<ValidatingAdmissionPolicyBinding> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  ...shared,
  withDefaults: binding => withField(binding, 'spec', withMatch),
  validate: validateValidatingBinding,
  validateUpdate: validateValidatingBinding,
}

export const mutatingAdmissionPolicyBindingRules: KindRules<MutatingAdmissionPolicyBinding> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  ...shared,
  withDefaults: binding => withField(binding, 'spec', withMatch),
  validate: validateMutatingBinding,
  validateUpdate: validateMutatingBinding,
}

/** The fields common to both kinds of bindings. */
type BindingSpec = MutatingAdmissionPolicyBindingSpec

const actions = enumValues('admissionregistration.ValidationAction')

function withMatch<T extends BindingSpec>(spec: T): T {
  return withField<BindingSpec, 'matchResources'>(spec, 'matchResources', withMatchDefaults) as T
}

function validateValidatingBinding({ spec = {} }: Unchecked<ValidatingAdmissionPolicyBinding>): FieldError[] {
  return [...validateBinding(spec), ...validateActions(spec)]
}

function validateMutatingBinding({ spec = {} }: Unchecked<MutatingAdmissionPolicyBinding>): FieldError[] {
  const { matchResources: match } = spec
  return [
    ...validateBinding(spec),
    ...validateMutatingOperations('spec.matchResources.resourceRules', match?.resourceRules),
  ]
}

function validateBinding({ policyName, paramRef, matchResources }: Unchecked<BindingSpec>): FieldError[] {
  return [
    ...validateRequiredName('spec.policyName', policyName, checkDns1123Subdomain),
    ...(paramRef ? validateParamRef('spec.paramRef', paramRef) : []),
    ...validateMatchResources('spec.matchResources', matchResources as MatchResources | undefined),
  ]
}

/** Parameters are either a single object by name or all objects matching a selector. */
function validateParamRef(field: string, reference: Unchecked<ParamRef>): FieldError[] {
  const { name = '', selector, parameterNotFoundAction } = reference
  const errors = name === '' ? [] : invalidEach(`${field}.name`, name, checkPathSegmentName(name))
  const exclusive = 'name and selector are mutually exclusive'
  if (name !== '' && selector) errors.push(forbiddenField(`${field}.name`, exclusive))
  errors.push(...validateSelector(`${field}.selector`, selector as LabelSelector | undefined))
  if (name !== '' && selector) errors.push(forbiddenField(`${field}.selector`, exclusive))
  if (name === '' && !selector) errors.push(required(field, 'one of name or selector must be specified'))
  const actionField = `${field}.parameterNotFoundAction`
  return [...errors, ...validateChoice(actionField, parameterNotFoundAction, ['Deny', 'Allow'])]
}

function validateActions({
  validationActions = [],
}: Unchecked<ValidatingAdmissionPolicyBindingSpec>): FieldError[] {
  const field = 'spec.validationActions'
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, action] of validationActions.entries()) {
    if (!actions.includes(action)) errors.push(notSupported(`${field}[${index}]`, action, actions))
    if (seen.has(action)) errors.push(duplicate(`${field}[${index}]`, action))
    seen.add(action)
  }
  if (seen.has('Deny') && seen.has('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in ' +
      'the API response and headers serves no purpose)'
    errors.push(invalid(field, validationActions, detail))
  }
  return seen.size > 0 ? errors : [required(field, 'at least one validation action is required')]
}
