/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, merged, set, type Overlay, type ResourceFacts } from '../overlay.ts'

const extension: ResourceFacts = { categories: ['api-extensions'] }

export const admissionregistrationOverlay: Overlay = {
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
  enums: {
    FailurePolicyType: ['Fail', 'Ignore'],
    MatchPolicyType: ['Equivalent', 'Exact'],
    OperationType: ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    ParameterNotFoundActionType: ['Allow', 'Deny'],
    PatchType: ['ApplyConfiguration', 'JSONPatch'],
    ReinvocationPolicyType: ['IfNeeded', 'Never'],
    ScopeType: ['*', 'Cluster', 'Namespaced'],
    SideEffectClass: ['None', 'NoneOnDryRun', 'Some', 'Unknown'],
    ValidationAction: ['Audit', 'Deny', 'Warn'],
  },
  enumFields: {
    'MutatingAdmissionPolicySpec.reinvocationPolicy': 'ReinvocationPolicyType',
    'MutatingWebhook.failurePolicy': 'FailurePolicyType',
    'MutatingWebhook.matchPolicy': 'MatchPolicyType',
    'MutatingWebhook.reinvocationPolicy': 'ReinvocationPolicyType',
    'MutatingWebhook.sideEffects': 'SideEffectClass',
    'Mutation.patchType': 'PatchType',
    'NamedRuleWithOperations.operations': 'OperationType',
    'NamedRuleWithOperations.scope': 'ScopeType',
    'RuleWithOperations.operations': 'OperationType',
    'RuleWithOperations.scope': 'ScopeType',
    'ValidatingAdmissionPolicyBindingSpec.validationActions': 'ValidationAction',
    'ValidatingAdmissionPolicySpec.failurePolicy': 'FailurePolicyType',
    'ValidatingWebhook.failurePolicy': 'FailurePolicyType',
    'ValidatingWebhook.matchPolicy': 'MatchPolicyType',
    'ValidatingWebhook.sideEffects': 'SideEffectClass',
    'v1/MatchResources.matchPolicy': 'MatchPolicyType',
    'v1/MutatingAdmissionPolicySpec.failurePolicy': 'FailurePolicyType',
    'v1alpha1/MatchResources.matchPolicy': 'MatchPolicyType',
    'v1alpha1/MutatingAdmissionPolicySpec.failurePolicy': 'FailurePolicyType',
    'v1alpha1/ParamRef.parameterNotFoundAction': 'ParameterNotFoundActionType',
  },
  spacedSentences: ['NamedRuleWithOperations.resourceNames'],
  resources: {
    mutatingadmissionpolicies: { ...extension, hashedVersion: 'v1beta1' },
    mutatingadmissionpolicybindings: { ...extension, hashedVersion: 'v1beta1' },
    mutatingwebhookconfigurations: extension,
    validatingadmissionpolicies: extension,
    validatingadmissionpolicybindings: extension,
    validatingwebhookconfigurations: extension,
  },
  fieldNumbers: `
ApplyConfiguration: expression
AuditAnnotation: key valueExpression
ExpressionWarning: 2:fieldRef warning
JSONPatch: expression
MatchCondition: name expression
MatchResources: namespaceSelector? objectSelector? resourceRules excludeResourceRules 7:matchPolicy?
MutatingAdmissionPolicy: metadata spec
MutatingAdmissionPolicyBinding: metadata spec
MutatingAdmissionPolicyBindingList: metadata items
MutatingAdmissionPolicyBindingSpec: policyName paramRef? matchResources?
MutatingAdmissionPolicyList: metadata items
MutatingAdmissionPolicySpec: paramKind? matchConstraints? variables mutations failurePolicy? matchConditions
  reinvocationPolicy
MutatingWebhook: name clientConfig rules failurePolicy? namespaceSelector? sideEffects? timeoutSeconds?
  admissionReviewVersions matchPolicy? reinvocationPolicy? objectSelector? matchConditions
MutatingWebhookConfiguration: metadata webhooks
MutatingWebhookConfigurationList: metadata items
Mutation: 2:patchType applyConfiguration? jsonPatch?
NamedRuleWithOperations: resourceNames ...RuleWithOperations
ParamKind: apiVersion kind
ParamRef: name namespace selector? parameterNotFoundAction?
Rule: apiGroups apiVersions resources scope?
RuleWithOperations: operations ...Rule
ServiceReference: namespace name path? port?
TypeChecking: expressionWarnings
ValidatingAdmissionPolicy: metadata spec status
ValidatingAdmissionPolicyBinding: metadata spec
ValidatingAdmissionPolicyBindingList: metadata items
ValidatingAdmissionPolicyBindingSpec: policyName- paramRef? matchResources? validationActions-
ValidatingAdmissionPolicyList: metadata items
ValidatingAdmissionPolicySpec: paramKind? matchConstraints? validations failurePolicy? auditAnnotations
  matchConditions variables
ValidatingAdmissionPolicyStatus: observedGeneration typeChecking? conditions
ValidatingWebhook: name clientConfig rules failurePolicy? namespaceSelector? sideEffects? timeoutSeconds?
  admissionReviewVersions matchPolicy? objectSelector? matchConditions
ValidatingWebhookConfiguration: metadata webhooks
ValidatingWebhookConfigurationList: metadata items
Validation: expression message reason? messageExpression
Variable: name expression
WebhookClientConfig: service? caBundle url?
`,
}
