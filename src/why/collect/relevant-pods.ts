import type { Service, Pod } from '#/api/generated/core/v1.ts'
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'
import { isTrue } from '#/api/conditions.ts'
import { isBeingDeleted, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import { podsOf, type Snapshot } from './snapshot.ts'

/** The pods whose state explains that of the target, the worst first. */
export function relevantPods(snapshot: Snapshot): readonly Stored<Pod>[] {
  return worstFirst(selectPods(snapshot))
}

export function worstFirst(pods: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
  const newest = pods.toSorted((left, right) => {
    return left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1
  })
  return newest.toSorted((left, right) => severityOf(right) - severityOf(left))
}

/** Pods that a Service selects. */
export function podsOfService({ pods = [] }: Snapshot, service: Service): readonly Stored<Pod>[] {
  const labels = service.spec?.selector ?? {}
  if (Object.keys(labels).length === 0) return []
  const selector = selectorFromLabels(labels)
  return pods.filter(({ metadata }) => selector.matches(metadata.labels))
}

export function isReady(pod: Pod): boolean {
  return isTrue(pod.status?.conditions, 'Ready')
}

/** The names of all Services that an Ingress routes to. */
function backendsOf({ spec }: Ingress): readonly string[] {
  const paths = (spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  const backends = [spec?.defaultBackend, ...paths.map(({ backend }) => backend)]
  return [...new Set(backends.flatMap(backend => backend?.service?.name ?? []))]
}

function selectPods(snapshot: Snapshot): readonly Stored<Pod>[] {
  const { target, pods = [], services = [], namespace } = snapshot
  const { name } = target.metadata
  switch (target.kind ?? '') {
    case 'Pod':
      return pods.filter(pod => pod.metadata.name === name)
    case 'Service':
      return podsOfService(snapshot, target as Stored<Service>)
    case 'Ingress': {
      const names = backendsOf(target as Stored<Ingress>)
      const backends = services.filter(each => {
        return each.metadata.namespace === namespace && names.includes(each.metadata.name)
      })
      return [...new Set(backends.flatMap(service => podsOfService(snapshot, service)))]
    }
    case 'PersistentVolumeClaim':
      return pods.filter(pod => claimsOf(pod).some(claim => claim.name === name))
    case 'Node':
      return pods.filter(pod => pod.spec?.nodeName === name)
    case 'HorizontalPodAutoscaler': {
      const { scaleTarget } = snapshot
      return scaleTarget === undefined || scaleTarget === 'missing' ? [] : podsOf(snapshot, scaleTarget)
    }
    case 'CronJob':
      return podsOf(snapshot, target).filter(pod => !isDone(pod, 'Succeeded'))
    default:
      return podsOf(snapshot, target)
  }
}

function severityOf(pod: KubernetesObject & Pod): number {
  if (isDone(pod, 'Succeeded')) return 0
  if (isReady(pod)) return isBeingDeleted(pod) ? 2 : 1
  return isBeingDeleted(pod) ? 3 : 4
}

function isDone({ status }: Pod, phase: 'Succeeded' | 'Failed'): boolean {
  return status?.phase === phase
}
