import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import type { LoadBalancerStatus, Node, Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { withFinalizer, withoutFinalizer } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { LoadBalancers } from '../load-balancers.ts'
import { nodesKey } from './nodes.ts'
import { cleanupFinalizer, type Done } from './plan.ts'

/** A failure of the load balancer implementation, as opposed to the API server. */
export class BalancerFailure extends Error {}

export interface Step {
  readonly service: Service
  /** Nodes that receive traffic from load balancers. */
  readonly behind: readonly Node[]
  readonly client: Client
  readonly signal: AbortSignal
}

/** Maximum number of node names in an event. */
const namesMax = 20

/** Performs the plan and records events. */
export class Balancing {
  readonly #balancers: LoadBalancers
  readonly #recorder: EventRecorder

  constructor(balancers: LoadBalancers, recorder: EventRecorder) {
    this.#balancers = balancers
    this.#recorder = recorder
  }

  async ensure({ service, behind, client, signal }: Step): Promise<Done> {
    this.#tell(service, 'EnsuringLoadBalancer', 'Ensuring load balancer')
    // The finalizer is set before anything is created, so that nothing can be left behind.
    const held = await writeStatus(client, service, withFinalizer(service, cleanupFinalizer))
    this.#warnWithoutNodes(service, behind)
    const nodes = nodesKey(behind)
    const status = await asked('failed to ensure load balancer', () => {
      return this.#balancers.ensure(held, behind, signal)
    })
    if (status === 'elsewhere') return { service, status: undefined, nodes }
    const wanted = { ...held, status: { ...held.status, loadBalancer: status } }
    const written = await writeStatus(client, held, wanted)
    this.#tell(service, 'EnsuredLoadBalancer', 'Ensured load balancer')
    return { service, status: written.status?.loadBalancer ?? {}, nodes }
  }

  async updateNodes({ service, behind, signal }: Step, done: Done): Promise<Done> {
    const updated = { ...done, nodes: nodesKey(behind) }
    if (done.status === undefined) return updated
    try {
      await asked('failed to update load balancer', () => {
        return this.#balancers.updateNodes(service, behind, signal)
      })
    } catch (error) {
      const names = behind.slice(0, namesMax).map(({ metadata }) => metadata?.name)
      const shown = `[${names.join(' ')}] [node names limited, total number of nodes: ${behind.length}]`
      const message = `Error updating load balancer with new hosts ${shown}, error: ${messageOf(error)}`
      this.#warn(service, 'UpdateLoadBalancerFailed', message)
      throw error
    }
    if (behind.length > 0) {
      this.#tell(service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts')
    }
    this.#warnWithoutNodes(service, behind)
    return updated
  }

  async cleanUp({ service, client, signal }: Step): Promise<void> {
    const found = await asked('failed to check if load balancer exists before cleanup', () => {
      return this.#balancers.find(service, signal)
    })
    if (found !== undefined) {
      this.#tell(service, 'DeletingLoadBalancer', 'Deleting load balancer')
      await asked('failed to delete load balancer', () => this.#balancers.remove(service, signal))
    }
    const free = withoutFinalizer(service, cleanupFinalizer)
    await writeStatus(client, service, { ...free, status: { ...service.status, loadBalancer: {} } })
    this.#tell(service, 'DeletedLoadBalancer', 'Deleted load balancer')
  }

  /** Deletes the load balancer of a service that no longer exists. */
  async forget(service: Service, signal: AbortSignal): Promise<void> {
    this.#tell(service, 'DeletingLoadBalancer', 'Deleting load balancer')
    try {
      await asked('failed to delete load balancer', () => this.#balancers.remove(service, signal))
    } catch (error) {
      this.#warn(service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${messageOf(error)}`)
      throw error
    }
    this.#tell(service, 'DeletedLoadBalancer', 'Deleted load balancer')
  }

  #warnWithoutNodes(service: Service, behind: readonly Node[]): void {
    if (behind.length > 0) return
    this.#warn(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer')
  }

  #tell(service: Service, reason: string, message: string): void {
    this.#recorder.record(service, { type: 'Normal', reason, message })
  }

  #warn(service: Service, reason: string, message: string): void {
    this.#recorder.record(service, { type: 'Warning', reason, message })
  }
}

async function asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    throw new BalancerFailure(`${what}: ${messageOf(cause)}`, { cause })
  }
}

/** Finalizers are written through the status subresource, since the controller may only update status. */
async function writeStatus(client: Client, before: Service, after: Service): Promise<Service> {
  const balancer = ({ status }: Service): LoadBalancerStatus => status?.loadBalancer ?? {}
  const isSame =
    equalJson(before.metadata?.finalizers ?? [], after.metadata?.finalizers ?? []) &&
    equalJson(balancer(before), balancer(after))
  if (isSame) return before
  try {
    return await client.updateStatus(services, after)
  } catch (error) {
    // The service was deleted meanwhile.
    if (isApiError(error, 'NotFound')) return after
    throw error
  }
}
