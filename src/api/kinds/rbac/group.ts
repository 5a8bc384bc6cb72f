/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import type { Overlay } from '../overlay.ts'

export const rbacOverlay: Overlay = {
  atomic: ['RoleRef', 'Subject'],
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const rbacFieldNumbers = `
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
`
