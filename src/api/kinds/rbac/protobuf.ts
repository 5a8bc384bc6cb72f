/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const rbac = `
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
