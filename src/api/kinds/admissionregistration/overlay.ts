import { keyed, merged, set, type Overlay, type ResourceFacts } from '../overlay.ts'

const extension: ResourceFacts = { categories: ['api-extensions'] }

export const admissionregistration: Overlay = {
  atomic: [
    'MatchResources',
    'NamedRuleWithOperations',
    'ParamKind',
    'ParamRef',
    'v1/Variable',
    'v1beta1/Variable',
  ],
  merging: {
    'MutatingAdmissionPolicySpec.matchConditions': merged('name'),
    'MutatingWebhook.matchConditions': merged('name'),
    'MutatingWebhookConfiguration.webhooks': merged('name'),
    'ValidatingAdmissionPolicyBindingSpec.validationActions': set,
    'ValidatingAdmissionPolicySpec.matchConditions': merged('name'),
    'ValidatingAdmissionPolicySpec.variables': merged('name'),
    'ValidatingAdmissionPolicyStatus.conditions': keyed('type'),
    'ValidatingWebhook.matchConditions': merged('name'),
    'ValidatingWebhookConfiguration.webhooks': merged('name'),
  },
  resources: {
    mutatingadmissionpolicies: extension,
    mutatingadmissionpolicybindings: extension,
    mutatingwebhookconfigurations: extension,
    validatingadmissionpolicies: extension,
    validatingadmissionpolicybindings: extension,
    validatingwebhookconfigurations: extension,
  },
}
