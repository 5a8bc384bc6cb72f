/** https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/ */
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

export const admissionregistration: GroupRules = {
  MutatingAdmissionPolicy: mutatingAdmissionPolicyRules,
  MutatingAdmissionPolicyBinding: mutatingAdmissionPolicyBindingRules,
  MutatingWebhookConfiguration: mutatingWebhookConfigurationRules,
  ValidatingAdmissionPolicy: validatingAdmissionPolicyRules,
  ValidatingAdmissionPolicyBinding: validatingAdmissionPolicyBindingRules,
  ValidatingWebhookConfiguration: validatingWebhookConfigurationRules,
}
