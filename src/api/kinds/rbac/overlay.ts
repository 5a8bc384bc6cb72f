/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const rbacOverlay: Overlay = {
  atomic: ['RoleRef', 'Subject'],
  spacedSentences: [
    'ClusterRoleBinding',
    'PolicyRule.apiGroups',
    'PolicyRule.nonResourceURLs',
    'PolicyRule.resourceNames',
    'RoleBinding',
    'Subject',
    'Subject.namespace',
  ],
  fieldNumbers: `
AggregationRule: clusterRoleSelectors
ClusterRole: metadata rules! aggregationRule?
ClusterRoleBinding: metadata subjects roleRef
ClusterRoleBindingList: metadata items
ClusterRoleList: metadata items
PolicyRule: verbs apiGroups resources resourceNames nonResourceURLs
Role: metadata rules!
RoleBinding: metadata subjects roleRef
RoleBindingList: metadata items
RoleList: metadata items
RoleRef: apiGroup! kind name
Subject: kind apiGroup name namespace
`,
}
