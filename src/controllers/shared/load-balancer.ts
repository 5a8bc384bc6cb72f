/**
 * Load balancer implementation: a cloud provider, or a bare-metal one. All calls are idempotent: repeated
 * after a crash, they complete the rest. Errors are thrown, reported as events and retried.
 * https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
 */
import type { LoadBalancerStatus, Node, Service } from '#/api/generated/core/v1.ts'
import type { ControllerContext } from '../controller.ts'

export interface LoadBalancer {
  /** The existing load balancer's status; undefined if there is none. */
  getLoadBalancer(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined>
  /**
   * Creates or updates the load balancer of a service for these nodes. Returns `elsewhere` if another
   * implementation handles the service; its status is then left alone.
   */
  ensureLoadBalancer(
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus | 'elsewhere'>
  /** Called when only the set of nodes has changed. */
  updateLoadBalancer(service: Service, nodes: readonly Node[], signal: AbortSignal): Promise<void>
  /** Deletes all resources of the service's load balancer; succeeds if there are none. */
  ensureLoadBalancerDeleted(service: Service, signal: AbortSignal): Promise<void>
}

/** Creates the implementation; it may use informers of the context. */
export type LoadBalancerFactory = (context: ControllerContext) => LoadBalancer
