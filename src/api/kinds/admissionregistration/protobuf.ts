/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const admissionregistration = `
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
ValidatingAdmissionPolicyBindingSpec: policyName paramRef? matchResources? validationActions
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
`
