/** Priorities of the group versions of this server, which order the groups and versions of discovery. */
import { apiVersionOf, type GroupVersion } from '#/api/resource.ts'

export interface ApiServicePriority {
  readonly groupPriorityMinimum: number
  readonly versionPriority: number
}

/** The priority of a built-in group version; undefined for those that are not registered as APIService. */
export function builtinPriority(groupVersion: GroupVersion): ApiServicePriority | undefined {
  const [groupPriorityMinimum, versionPriority] = builtins[apiVersionOf(groupVersion)] ?? []
  if (groupPriorityMinimum === undefined || versionPriority === undefined) return undefined
  return { groupPriorityMinimum, versionPriority }
}

/** The priority of a group version of this server without an APIService. */
export function defaultPriority(groupVersion: GroupVersion): ApiServicePriority {
  if (groupVersion.group === 'apiregistration.k8s.io') return apiRegistrationPriority
  return builtinPriority(groupVersion) ?? customPriority
}

/** Of the versions of custom resources, which have no order but that of their names. */
export const customPriority: ApiServicePriority = { groupPriorityMinimum: 1_000, versionPriority: 100 }

/** Above the maximum of an APIService: the group comes first in discovery and has no APIService itself. */
const apiRegistrationPriority: ApiServicePriority = { groupPriorityMinimum: 20_001, versionPriority: 1 }

/** As in Kubernetes. */
const builtins: Readonly<Record<string, readonly [group: number, version: number]>> = {
  'v1': [18_000, 1],
  'apps/v1': [17_800, 15],
  'events.k8s.io/v1': [17_750, 15],
  'authentication.k8s.io/v1': [17_700, 15],
  'authorization.k8s.io/v1': [17_600, 15],
  'autoscaling/v2': [17_500, 30],
  'autoscaling/v1': [17_500, 15],
  'batch/v1': [17_400, 15],
  'certificates.k8s.io/v1': [17_300, 15],
  'certificates.k8s.io/v1beta1': [17_300, 9],
  'certificates.k8s.io/v1alpha1': [17_300, 1],
  'networking.k8s.io/v1': [17_200, 15],
  'networking.k8s.io/v1beta1': [17_200, 9],
  'policy/v1': [17_100, 15],
  'rbac.authorization.k8s.io/v1': [17_000, 15],
  'storage.k8s.io/v1': [16_800, 15],
  'storage.k8s.io/v1beta1': [16_800, 9],
  'storage.k8s.io/v1alpha1': [16_800, 1],
  'admissionregistration.k8s.io/v1': [16_700, 15],
  'admissionregistration.k8s.io/v1beta1': [16_700, 12],
  'admissionregistration.k8s.io/v1alpha1': [16_700, 9],
  'apiextensions.k8s.io/v1': [16_700, 15],
  'scheduling.k8s.io/v1': [16_600, 15],
  'scheduling.k8s.io/v1alpha2': [16_600, 2],
  'coordination.k8s.io/v1': [16_500, 15],
  'coordination.k8s.io/v1beta1': [16_500, 13],
  'coordination.k8s.io/v1alpha2': [16_500, 12],
  'node.k8s.io/v1': [16_300, 15],
  'discovery.k8s.io/v1': [16_200, 15],
  'resource.k8s.io/v1': [16_200, 21],
  'resource.k8s.io/v1beta2': [16_200, 15],
  'resource.k8s.io/v1beta1': [16_200, 9],
  'resource.k8s.io/v1alpha3': [16_200, 1],
  'flowcontrol.apiserver.k8s.io/v1': [16_100, 21],
  'internal.apiserver.k8s.io/v1alpha1': [16_000, 9],
  'storagemigration.k8s.io/v1beta1': [15_800, 9],
}
