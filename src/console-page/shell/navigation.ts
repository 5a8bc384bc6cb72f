import type { IconName } from '../components/icon.tsx'
import { resourceId, type ApiResource } from '../data/api-resource.ts'

/** Resources by what they are for. Those that the API server does not serve are left out. */
export const sections: readonly NavigationSection[] = [
  { title: 'Cluster', icon: 'node', resources: words('nodes namespaces') },
  {
    title: 'Workloads',
    icon: 'workload',
    resources:
      words(`pods deployments.apps statefulsets.apps daemonsets.apps replicasets.apps jobs.batch cronjobs.batch
      horizontalpodautoscalers.autoscaling poddisruptionbudgets.policy`),
  },
  {
    title: 'Network',
    icon: 'network',
    resources: words(`services endpointslices.discovery.k8s.io ingresses.networking.k8s.io
      networkpolicies.networking.k8s.io gateways.gateway.networking.k8s.io httproutes.gateway.networking.k8s.io`),
  },
  {
    title: 'Storage',
    icon: 'disk',
    resources: words('persistentvolumeclaims persistentvolumes storageclasses.storage.k8s.io'),
  },
  {
    title: 'Config',
    icon: 'config',
    resources: words('configmaps secrets resourcequotas limitranges priorityclasses.scheduling.k8s.io'),
  },
  {
    title: 'Access',
    icon: 'key',
    resources: words(`serviceaccounts roles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io
      clusterroles.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io`),
  },
]

function words(text: string): readonly string[] {
  return text.split(/\s+/)
}

export interface NavigationSection {
  readonly title: string
  readonly icon: IconName
  readonly resources: readonly string[]
}

/** Groups that are part of Kubernetes have no dot, or end with `k8s.io`. */
export function isCustomResource({ group, verbs }: ApiResource): boolean {
  if (!verbs.includes('list')) return false
  if (group.endsWith('gateway.networking.k8s.io') || group.endsWith('snapshot.storage.k8s.io')) return true
  return group.includes('.') && !/(?:^|\.)k8s\.io$/.test(group)
}

/** `PersistentVolumeClaims`: the plural of a kind, written like the kind. */
export function pluralOf({ kind, resource }: Pick<ApiResource, 'kind' | 'resource'>): string {
  let shared = 0
  while (shared < kind.length && kind[shared]?.toLowerCase() === resource[shared]) shared++
  return kind.slice(0, shared) + resource.slice(shared)
}

export function customResources(resources: readonly ApiResource[]): ApiResource[] {
  const listed = new Set(sections.flatMap(section => section.resources))
  return resources
    .filter(each => isCustomResource(each) && !listed.has(resourceId(each)))
    .sort((left, right) => (resourceId(left) < resourceId(right) ? -1 : 1))
}
