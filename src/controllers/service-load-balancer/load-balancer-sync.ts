import { messageOf } from '#/base/message-of.ts'
import { allocatedFromPoolAnnotation } from '#/api/core/load-balancers.ts'
import { isApiError } from '#/api/errors.ts'
import type { LoadBalancerStatus, Node, Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { withAnnotations, withFinalizer, withoutAnnotation, withoutFinalizer } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { LoadBalancer } from '../shared/load-balancer.ts'
import { nodeSetKey } from './nodes.ts'
import { cleanupFinalizer, type SyncedState } from './plan.ts'

/** A failure of the load balancer implementation, as opposed to the API server. */
export class LoadBalancerError extends Error {}

export interface Step {
  readonly service: Service
  /** Nodes that receive traffic from load balancers. */
  readonly nodes: readonly Node[]
  /** Of the load balancer implementation. */
  readonly configuration: string
  readonly client: Client
  readonly signal: AbortSignal
}

/** Maximum number of node names in an event. */
const namesMax = 20

/** Performs the plan and records events. */
export class LoadBalancerSync {
  readonly #loadBalancer: LoadBalancer
  readonly #recorder: EventRecorder

  constructor(loadBalancer: LoadBalancer, recorder: EventRecorder) {
    this.#loadBalancer = loadBalancer
    this.#recorder = recorder
  }

  async ensure({ service, nodes, configuration, client, signal }: Step): Promise<SyncedState> {
    this.#record(service, 'EnsuringLoadBalancer', 'Ensuring load balancer')
    // The finalizer is set before anything is created, so that nothing can be left behind.
    const held = await writeStatus(client, service, withFinalizer(service, cleanupFinalizer))
    this.#warnWithoutNodes(service, nodes)
    const nodeSet = nodeSetKey(nodes)
    const ensured = await calling('failed to ensure load balancer', () => {
      return this.#loadBalancer.ensureLoadBalancer(held, nodes, signal)
    })
    if (ensured === 'elsewhere') return { service, status: undefined, nodeSet, configuration }
    const annotated = withAnnotations(held, ensured.annotations ?? {})
    const wanted = { ...annotated, status: { ...held.status, loadBalancer: ensured.status } }
    const written = await writeStatus(client, held, wanted)
    if (ensured.problem !== undefined)
      throw new LoadBalancerError(`failed to ensure load balancer: ${ensured.problem}`)
    this.#record(service, 'EnsuredLoadBalancer', 'Ensured load balancer')
    // With the written annotations: they are no change of the request.
    const synced = withAnnotations(service, ensured.annotations ?? {})
    return { service: synced, status: written.status?.loadBalancer ?? {}, nodeSet, configuration }
  }

  async updateNodes({ service, nodes, signal }: Step, synced: SyncedState): Promise<SyncedState> {
    const updated = { ...synced, nodeSet: nodeSetKey(nodes) }
    if (synced.status === undefined) return updated
    try {
      await calling('failed to update load balancer', () => {
        return this.#loadBalancer.updateLoadBalancer(service, nodes, signal)
      })
    } catch (error) {
      const names = nodes.slice(0, namesMax).map(({ metadata }) => metadata.name)
      const shown = `[${names.join(' ')}] [node names limited, total number of nodes: ${nodes.length}]`
      const message = `Error updating load balancer with new hosts ${shown}, error: ${messageOf(error)}`
      this.#warn(service, 'UpdateLoadBalancerFailed', message)
      throw error
    }
    if (nodes.length > 0) {
      this.#record(service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts')
    }
    this.#warnWithoutNodes(service, nodes)
    return updated
  }

  async cleanUp({ service, client, signal }: Step): Promise<void> {
    const found = await calling('failed to check if load balancer exists before cleanup', () => {
      return this.#loadBalancer.getLoadBalancer(service, signal)
    })
    if (found !== undefined) {
      this.#record(service, 'DeletingLoadBalancer', 'Deleting load balancer')
      await calling('failed to delete load balancer', () =>
        this.#loadBalancer.ensureLoadBalancerDeleted(service, signal),
      )
    }
    const free = withoutAnnotation(withoutFinalizer(service, cleanupFinalizer), allocatedFromPoolAnnotation)
    await writeStatus(client, service, { ...free, status: { ...service.status, loadBalancer: {} } })
    this.#record(service, 'DeletedLoadBalancer', 'Deleted load balancer')
  }

  /** Deletes the load balancer of a service that no longer exists. */
  async forget(service: Service, signal: AbortSignal): Promise<void> {
    this.#record(service, 'DeletingLoadBalancer', 'Deleting load balancer')
    try {
      await calling('failed to delete load balancer', () =>
        this.#loadBalancer.ensureLoadBalancerDeleted(service, signal),
      )
    } catch (error) {
      this.#warn(service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${messageOf(error)}`)
      throw error
    }
    this.#record(service, 'DeletedLoadBalancer', 'Deleted load balancer')
  }

  #warnWithoutNodes(service: Service, nodes: readonly Node[]): void {
    if (nodes.length > 0) return
    this.#warn(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer')
  }

  #record(service: Service, reason: string, message: string): void {
    this.#recorder.record(service, { type: 'Normal', reason, message })
  }

  #warn(service: Service, reason: string, message: string): void {
    this.#recorder.record(service, { type: 'Warning', reason, message })
  }
}

async function calling<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    throw new LoadBalancerError(`${what}: ${messageOf(cause)}`, { cause })
  }
}

/** All is written through the status subresource, since the controller may only update status. */
async function writeStatus(client: Client, before: Service, after: Service): Promise<Service> {
  const statusOf = ({ status }: Service): LoadBalancerStatus => status?.loadBalancer ?? {}
  const isSame =
    equalJson(before.metadata.finalizers ?? [], after.metadata.finalizers ?? []) &&
    equalJson(before.metadata.annotations ?? {}, after.metadata.annotations ?? {}) &&
    equalJson(statusOf(before), statusOf(after))
  if (isSame) return before
  try {
    return await client.updateStatus(services, after)
  } catch (error) {
    // The service was deleted meanwhile.
    if (isApiError(error, 'NotFound')) return after
    throw error
  }
}
