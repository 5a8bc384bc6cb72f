/** Quota evaluator for pods: object count and compute resources. */
import type { Pod, PodAffinityTerm, PodSpec } from '../generated/core/v1.ts'
import {
  isHugePageResourceName,
  isNativeResource,
  isSupportedPodLevelResource,
} from '../core/resource-names.ts'
import { qosClassOf } from '../core/qos-class.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'
import { containerUsage, podUsage } from './pod-usage.ts'
import { selectsName } from './scope.ts'

const resources: ReadonlySet<string> = new Set([
  objectCountName('', 'pods'),
  'pods',
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap(name => [name, `requests.${name}`, `limits.${name}`]),
])

const requests = 'requests.'
const deviceClass = 'requests.deviceclass.resource.kubernetes.io/'

export const podEvaluator: QuotaEvaluator = {
  matchesResource: resource => {
    if (resources.has(resource) || isHugePageResourceName(resource)) return true
    if (!resource.startsWith(requests)) return false
    return (
      isHugePageResourceName(resource.slice(requests.length)) ||
      !isNativeResource(resource) ||
      resource.startsWith(deviceClass)
    )
  },
  usage: (object, nowMs) => podUsage(object as Pod, nowMs),
  matchesScope: (object, scope) => {
    const pod = object as Pod
    switch (scope.scopeName) {
      case 'Terminating':
        return isTerminating(pod)
      case 'NotTerminating':
        return !isTerminating(pod)
      case 'BestEffort':
        return qosClassOf(pod) === 'BestEffort'
      case 'NotBestEffort':
        return qosClassOf(pod) !== 'BestEffort'
      case 'PriorityClass':
        return selectsName(scope, pod.spec?.priorityClassName ? [pod.spec.priorityClassName] : [])
      case 'CrossNamespacePodAffinity':
        return reachesOtherNamespaces(pod.spec)
      default:
        return false
    }
  },
  handles: ({ operation, subresource, object, oldObject }) => {
    if (operation === 'CREATE') return subresource === ''
    if (subresource === 'resize') return true
    if (subresource !== '' || oldObject === undefined) return false
    // All other fields that affect usage are immutable once the pod is initialized, which almost all pods are
    // from the start.
    const isFixed = oldObject.metadata === undefined || !('initializers' in oldObject.metadata)
    return !isFixed || isTerminating(object as Pod) !== isTerminating(oldObject as Pod)
  },
  constraints: (object, resources) => missingResources((object as Pod).spec ?? { containers: [] }, resources),
}

/** True if the pod has an active deadline. */
function isTerminating({ spec }: Pod): boolean {
  return spec?.activeDeadlineSeconds !== undefined && Number(spec.activeDeadlineSeconds) >= 0
}

function reachesOtherNamespaces(spec: PodSpec | undefined): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {}
  const terms = [podAffinity, podAntiAffinity].flatMap(
    (affinity): readonly (PodAffinityTerm | undefined)[] => [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(each => each.podAffinityTerm),
    ],
  )
  return terms.some(term => (term?.namespaces?.length ?? 0) > 0 || term?.namespaceSelector !== undefined)
}

/** If one of these has a quota, every container must set it. */
const demanded = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory']

function missingResources(spec: PodSpec, resources: readonly string[]): string | undefined {
  if (hasPodLevelResources(spec)) return undefined
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  const gaps = demanded
    .filter(resource => resources.includes(resource))
    .flatMap(resource => {
      const names = containers
        .filter(container => !containerUsage(container).has(resource))
        .map(({ name }) => name)
      return names.length === 0 ? [] : [`${resource} for: ${[...new Set(names)].sort().join(',')}`]
    })
  return gaps.length === 0 ? undefined : `must specify ${gaps.join('; ')}`
}

function hasPodLevelResources({ resources }: PodSpec): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).some(isSupportedPodLevelResource)
}
