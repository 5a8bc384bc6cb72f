/**
 * Rules and table columns of `admissionregistration.k8s.io`.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../../generated/admissionregistration/v1.ts'
import type { LabelSelector } from '../../generated/meta/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { mutatingAdmissionPolicyRules } from './mutating-policy.ts'
import {
  mutatingAdmissionPolicyBindingRules,
  validatingAdmissionPolicyBindingRules,
} from './policy-binding.ts'
import { validatingAdmissionPolicyRules } from './validating-policy.ts'
import {
  mutatingWebhookConfigurationRules,
  validatingWebhookConfigurationRules,
} from './webhook-configuration.ts'

export const admissionregistrationRules: GroupRules = {
  MutatingAdmissionPolicy: mutatingAdmissionPolicyRules,
  MutatingAdmissionPolicyBinding: mutatingAdmissionPolicyBindingRules,
  MutatingWebhookConfiguration: mutatingWebhookConfigurationRules,
  ValidatingAdmissionPolicy: validatingAdmissionPolicyRules,
  ValidatingAdmissionPolicyBinding: validatingAdmissionPolicyBindingRules,
  ValidatingWebhookConfiguration: validatingWebhookConfigurationRules,
}

const webhookColumns: KindColumns<MutatingWebhookConfiguration | ValidatingWebhookConfiguration> = {
  columns: [nameColumn, integerColumn('Webhooks', 'Number of webhooks.'), ageColumn],
  cells: (object: Unchecked<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>) => [
    nameOf(object),
    object.webhooks?.length ?? 0,
    ageOf(object),
  ],
}

const parameterKindColumn = textColumn('ParamKind', 'Kind of the parameters.')

const validatingPolicyColumns: KindColumns<ValidatingAdmissionPolicy> = {
  columns: [
    nameColumn,
    integerColumn('Validations', 'Number of validations.'),
    parameterKindColumn,
    ageColumn,
  ],
  cells: (policy: Unchecked<ValidatingAdmissionPolicy>) => [
    nameOf(policy),
    policy.spec?.validations?.length ?? 0,
    parameterKindText(policy.spec?.paramKind),
    ageOf(policy),
  ],
}

const mutatingPolicyColumns: KindColumns<MutatingAdmissionPolicy> = {
  columns: [nameColumn, integerColumn('Mutations', 'Number of mutations.'), parameterKindColumn, ageColumn],
  cells: (policy: Unchecked<MutatingAdmissionPolicy>) => [
    nameOf(policy),
    policy.spec?.mutations?.length ?? 0,
    parameterKindText(policy.spec?.paramKind),
    ageOf(policy),
  ],
}

type PolicyBinding = MutatingAdmissionPolicyBinding | ValidatingAdmissionPolicyBinding

const policyBindingColumns: KindColumns<PolicyBinding> = {
  columns: [
    nameColumn,
    textColumn('PolicyName', 'Name of the policy.'),
    textColumn('ParamRef', 'Reference to the parameters.'),
    ageColumn,
  ],
  cells: (binding: Unchecked<PolicyBinding>) => [
    nameOf(binding),
    binding.spec?.policyName ?? '',
    parametersText(binding.spec?.paramRef),
    ageOf(binding),
  ],
}

function parameterKindText(parameters: Unchecked<ParamKind> | undefined): string {
  return parameters === undefined ? '<unset>' : `${parameters.apiVersion ?? ''}/${parameters.kind ?? ''}`
}

/** Without a namespace, parameters may be in any namespace or cluster-scoped. */
function parametersText({ name, namespace, selector }: Unchecked<ParamRef> = {}): string {
  if (name) return `${namespace || '*'}/${name}`
  return selector === undefined ? '<unset>' : structText(selector)
}

/** The selector in Go struct notation, which Kubernetes prints only in this table. */
function structText({ matchLabels = {}, matchExpressions = [] }: Unchecked<LabelSelector>): string {
  const labels = Object.keys(matchLabels)
    .sort()
    .map(key => `${key}: ${matchLabels[key]},`)
    .join('')
  const expressions = matchExpressions
    .map(({ key = '', operator = '', values = [] }) => {
      return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`
    })
    .join('')
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`
  )
}

export const admissionregistrationColumns: GroupColumns = {
  MutatingAdmissionPolicy: mutatingPolicyColumns,
  MutatingAdmissionPolicyBinding: policyBindingColumns,
  MutatingWebhookConfiguration: webhookColumns,
  ValidatingAdmissionPolicy: validatingPolicyColumns,
  ValidatingAdmissionPolicyBinding: policyBindingColumns,
  ValidatingWebhookConfiguration: webhookColumns,
}
