/**
 * Who makes load balancers: a cloud, or something on bare machines. Every call may be repeated, also after
 * a crash in the midst of it, and then completes what is left. What fails is thrown, told to people, and
 * tried again later.
 * https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
 */
import type { LoadBalancerStatus, Node, Service } from '#/api/generated/core/v1.ts'
import type { ControllerContext } from './controller.ts'

export interface LoadBalancers {
  /** What there is for the service; undefined when nothing is. */
  find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined>
  /**
   * Makes the load balancer of a service, or brings it up to date, for these nodes. `elsewhere` when
   * somebody else cares for this service: its status is left to him.
   */
  ensure(
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus | 'elsewhere'>
  /** The service is as it was, but the nodes behind it are these now. */
  updateNodes(service: Service, nodes: readonly Node[], signal: AbortSignal): Promise<void>
  /** Removes all that was made for the service; nothing being there is success. */
  remove(service: Service, signal: AbortSignal): Promise<void>
}

/** Makes one for the controller to ask; it may follow whatever it needs to know. */
export type ConnectLoadBalancers = (context: ControllerContext) => LoadBalancers
