import type { LoadBalancerStatus, Service } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'

export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup'

/** What was last done for a service. */
export interface Done {
  readonly service: Service
  /** Undefined when somebody else cares for it. */
  readonly status: LoadBalancerStatus | undefined
  readonly nodes: string
}

export interface BalancerWorld {
  readonly service: Service | undefined
  readonly done: Done | undefined
  /** Whom load balancers send to now. */
  readonly nodes: string
  /** Of the services with this class we make the load balancers; of those without one when absent. */
  readonly balancerClass: string | undefined
}

/**
 * - `forget`: the service went without waiting for us, or another has its name: what was made for it goes.
 * - `clean-up`: it goes, or needs no load balancer any more.
 */
export type BalancerPlan = 'nothing' | 'ensure' | 'update-nodes' | 'clean-up' | 'forget'

export function planBalancer({ service, done, nodes, balancerClass }: BalancerWorld): BalancerPlan {
  if (done !== undefined && done.service.metadata?.uid !== service?.metadata?.uid) return 'forget'
  if (service === undefined) return 'nothing'
  const isWanted = wantsBalancer(service, balancerClass)
  if (isBeingDeleted(service) || !isWanted) {
    const mayBeOurs = service.spec?.type !== 'LoadBalancer' || isWanted
    return done !== undefined || (mayBeOurs && hasFinalizer(service, cleanupFinalizer))
      ? 'clean-up'
      : 'nothing'
  }
  if (done === undefined || !isSameRequest(done.service, service)) return 'ensure'
  const isStatusKept = done.status === undefined || equalJson(done.status, service.status?.loadBalancer ?? {})
  if (!isStatusKept || !hasFinalizer(service, cleanupFinalizer)) return 'ensure'
  return done.nodes === nodes ? 'nothing' : 'update-nodes'
}

export function wantsBalancer({ spec }: Service, balancerClass: string | undefined): boolean {
  return spec?.type === 'LoadBalancer' && spec.loadBalancerClass === balancerClass
}

/** Annotations say to many a cloud how the load balancer is to be. */
function isSameRequest(before: Service, after: Service): boolean {
  return (
    equalJson(before.spec, after.spec) && equalJson(before.metadata?.annotations, after.metadata?.annotations)
  )
}

/**
 * Whether a change is none that matters here. That the finalizer came is our own doing, and what follows is
 * under way.
 */
export function isSameService(before: Service, after: Service): boolean {
  return (
    isSameRequest(before, after) &&
    isBeingDeleted(before) === isBeingDeleted(after) &&
    (hasFinalizer(after, cleanupFinalizer) || !hasFinalizer(before, cleanupFinalizer)) &&
    equalJson(before.status?.loadBalancer, after.status?.loadBalancer)
  )
}
