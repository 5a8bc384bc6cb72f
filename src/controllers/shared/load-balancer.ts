/**
 * Load balancer implementation: a cloud provider, or a bare-metal one. All calls are idempotent: repeated
 * after a crash, they complete the rest. Errors are thrown, reported as events and retried.
 * https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
 */
import type { LoadBalancerStatus, Node, Service } from '#/api/generated/core/v1.ts'
import type { ControllerContext } from '../controller.ts'

export interface LoadBalancer {
  /**
   * Identifies the configuration: all load balancers are ensured again when it has changed. While it is undefined, the
   * implementation is not in use, and services that it does not know yet are left to others.
   */
  configuration?(): string | undefined
  /** The existing load balancer; undefined if there is none. */
  getLoadBalancer(service: Service, signal: AbortSignal): Promise<EnsuredLoadBalancer | undefined>
  /**
   * Creates or updates the load balancer of a service for these nodes. Returns `elsewhere` if another
   * implementation handles the service; its status is then left alone.
   */
  ensureLoadBalancer(
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<EnsuredLoadBalancer | 'elsewhere'>
  /** Called when only the set of nodes has changed. */
  updateLoadBalancer(service: Service, nodes: readonly Node[], signal: AbortSignal): Promise<void>
  /** Deletes all resources of the service's load balancer; succeeds if there are none. */
  ensureLoadBalancerDeleted(service: Service, signal: AbortSignal): Promise<void>
}

export interface EnsuredLoadBalancer {
  readonly status: LoadBalancerStatus
  /** Written to the service. */
  readonly annotations?: Readonly<Record<string, string>>
  /** The load balancer is incomplete for this reason; it is retried after the status has been written. */
  readonly problem?: string
}

/** Creates the implementation; it may use informers of the context. */
export type LoadBalancerFactory = (context: ControllerContext) => LoadBalancer
