/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const authorizationOverlay: Overlay = {
  spacedSentences: [
    'NonResourceRule.nonResourceURLs',
    'NonResourceRule.verbs',
    'ResourceAttributes.group',
    'ResourceAttributes.namespace',
    'ResourceAttributes.resource',
    'ResourceAttributes.subresource',
    'ResourceAttributes.verb',
    'ResourceAttributes.version',
    'ResourceRule.apiGroups',
    'ResourceRule.resourceNames',
    'ResourceRule.verbs',
    'SelfSubjectAccessReview',
    'SelfSubjectAccessReviewSpec',
    'SubjectAccessReviewSpec',
    'SubjectAccessReviewSpec.extra',
    'SubjectAccessReviewStatus.reason',
  ],
  fieldNumbers: `
FieldSelectorAttributes: rawSelector requirements
LabelSelectorAttributes: rawSelector requirements
LocalSubjectAccessReview: metadata spec status
NonResourceAttributes: path verb
NonResourceRule: verbs nonResourceURLs
ResourceAttributes: namespace verb group version resource subresource name fieldSelector? labelSelector?
ResourceRule: verbs apiGroups resources resourceNames
SelfSubjectAccessReview: metadata spec status
SelfSubjectAccessReviewSpec: resourceAttributes? nonResourceAttributes?
SelfSubjectRulesReview: metadata spec status
SelfSubjectRulesReviewSpec: namespace
SubjectAccessReview: metadata spec status
SubjectAccessReviewSpec: resourceAttributes? nonResourceAttributes? user groups extra uid
SubjectAccessReviewStatus: allowed reason evaluationError denied
SubjectRulesReviewStatus: resourceRules nonResourceRules incomplete evaluationError
`,
}
