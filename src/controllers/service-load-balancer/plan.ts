import type { LoadBalancerStatus, Service } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'

export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup'

/** The last action performed for a service. */
export interface SyncedState {
  readonly service: Service
  /** Undefined if another implementation handles the service. */
  readonly status: LoadBalancerStatus | undefined
  readonly nodeSet: string
  readonly configuration: string
}

export interface LoadBalancerWorld {
  readonly service: Service | undefined
  readonly synced: SyncedState | undefined
  /** Key of the current nodes. */
  readonly nodeSet: string
  /** Configuration of the load balancer implementation. */
  readonly configuration: string
  /** Handles services with this `loadBalancerClass`; if undefined, those that have no class. */
  readonly loadBalancerClass: string | undefined
}

/**
 * - `forget`: the service was deleted without cleanup or replaced by another of the same name; its load
 *   balancer is deleted.
 * - `clean-up`: the service is being deleted or no longer needs a load balancer.
 */
export type LoadBalancerPlan = 'nothing' | 'ensure' | 'update-nodes' | 'clean-up' | 'forget'

export function planLoadBalancer({
  service,
  synced,
  nodeSet,
  configuration,
  loadBalancerClass,
}: LoadBalancerWorld): LoadBalancerPlan {
  if (synced !== undefined && synced.service.metadata.uid !== service?.metadata.uid) return 'forget'
  if (service === undefined) return 'nothing'
  const isWanted = wantsLoadBalancer(service, loadBalancerClass)
  if (isBeingDeleted(service) || !isWanted) {
    const mayBeOurs = service.spec?.type !== 'LoadBalancer' || isWanted
    return synced !== undefined || (mayBeOurs && hasFinalizer(service, cleanupFinalizer))
      ? 'clean-up'
      : 'nothing'
  }
  if (synced === undefined || !isSameRequest(synced.service, service)) return 'ensure'
  const isStatusKept =
    synced.status === undefined || equalJson(synced.status, service.status?.loadBalancer ?? {})
  if (!isStatusKept || !hasFinalizer(service, cleanupFinalizer)) return 'ensure'
  if (synced.configuration !== configuration) return 'ensure'
  return synced.nodeSet === nodeSet ? 'nothing' : 'update-nodes'
}

export function wantsLoadBalancer({ spec }: Service, loadBalancerClass: string | undefined): boolean {
  return spec?.type === 'LoadBalancer' && spec.loadBalancerClass === loadBalancerClass
}

/** Annotations are included, since many cloud providers are configured by them. */
function isSameRequest(before: Service, after: Service): boolean {
  return (
    equalJson(before.spec, after.spec) && equalJson(before.metadata.annotations, after.metadata.annotations)
  )
}

/** True if a change needs no action. An added finalizer is this controller's own write. */
export function isSameService(before: Service, after: Service): boolean {
  return (
    isSameRequest(before, after) &&
    isBeingDeleted(before) === isBeingDeleted(after) &&
    (hasFinalizer(after, cleanupFinalizer) || !hasFinalizer(before, cleanupFinalizer)) &&
    equalJson(before.status?.loadBalancer, after.status?.loadBalancer)
  )
}
