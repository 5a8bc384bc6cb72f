import type { Scope } from '#/api/resource.ts'
import type { PathResource } from '#/client/resource-path.ts'

/** The paths of built-in resources that commands use without looking them up in discovery. */
export const builtInResources = {
  certificateSigningRequests: resource('certificates.k8s.io/v1', 'certificatesigningrequests', 'Cluster'),
  controllerRevisions: resource('apps/v1', 'controllerrevisions'),
  daemonSets: resource('apps/v1', 'daemonsets'),
  deployments: resource('apps/v1', 'deployments'),
  events: resource('v1', 'events'),
  namespaces: resource('v1', 'namespaces', 'Cluster'),
  nodes: resource('v1', 'nodes', 'Cluster'),
  nodeMetrics: resource('metrics.k8s.io/v1beta1', 'nodes', 'Cluster'),
  podMetrics: resource('metrics.k8s.io/v1beta1', 'pods'),
  pods: resource('v1', 'pods'),
  replicaSets: resource('apps/v1', 'replicasets'),
  replicationControllers: resource('v1', 'replicationcontrollers'),
  selfSubjectAccessReviews: resource('authorization.k8s.io/v1', 'selfsubjectaccessreviews', 'Cluster'),
  selfSubjectReviews: resource('authentication.k8s.io/v1', 'selfsubjectreviews', 'Cluster'),
  selfSubjectRulesReviews: resource('authorization.k8s.io/v1', 'selfsubjectrulesreviews', 'Cluster'),
  services: resource('v1', 'services'),
  statefulSets: resource('apps/v1', 'statefulsets'),
} as const

function resource(apiVersion: string, plural: string, scope: Scope = 'Namespaced'): PathResource {
  const slash = apiVersion.indexOf('/')
  return {
    group: apiVersion.slice(0, Math.max(slash, 0)),
    version: apiVersion.slice(slash + 1),
    plural,
    scope,
  }
}
