/** Writes what the latest plan decided, object by object. A failed write is repeated with backoff. */
import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { keyOf, parseKey, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import { backendTlsPolicies } from '../gateway-api/backend-tls-policy.ts'
import { gatewayClasses } from '../gateway-api/gateway-class.ts'
import { gateways } from '../gateway-api/gateway.ts'
import { grpcRoutes } from '../gateway-api/grpc-route.ts'
import { httpRoutes } from '../gateway-api/http-route.ts'
import type { GatewayPlan, PlannedService } from '../plan-gateways.ts'
import type { GatewayServicePlan } from '../plan/gateway-service.ts'
import type { GatewayCache } from './gateway-cache.ts'
import { isServiceCurrent, isSliceCurrent } from './is-current.ts'
import { classStatus, gatewayStatus, policyStatus, routeStatus, type Observation } from './statuses.ts'

export interface GatewayWriterOptions {
  readonly platform: Platform
  readonly client: Client
  readonly cache: GatewayCache
}

/** Writes one object as it should be now. */
type Write = (signal: AbortSignal) => Promise<void>

const retryMs = { first: 100, max: 60_000 }
const workers = 4
const fieldManager = 'k8ts-gateway-controller'

export class GatewayWriter {
  readonly #options: GatewayWriterOptions
  readonly #queue: WorkQueue
  readonly #recorder: EventRecorder
  /** Of the latest plan, by key of the queue. */
  #writes: ReadonlyMap<string, Write> = new Map()
  /** Services and EndpointSlices as last applied, by key. */
  readonly #applied = new Map<string, GatewayServicePlan>()

  constructor(options: GatewayWriterOptions) {
    this.#options = options
    const { platform, client } = options
    this.#queue = new WorkQueue({ platform, name: 'gateway status', retryMs })
    this.#recorder = new EventRecorder({ platform, client, component: 'gateway-controller' })
  }

  async run(signal: AbortSignal): Promise<void> {
    const reconcile = (key: string): Promise<void> | undefined => this.#writes.get(key)?.(signal)
    const running = this.#queue.run({ signal, workers, reconcile: async key => reconcile(key) })
    await Promise.all([running, this.#recorder.run(signal)])
  }

  write(plan: GatewayPlan): void {
    const writes = new Map<string, Write>()
    this.#addStatuses(plan, writes)
    for (const { gateway, ...each } of plan.services) {
      const key = keyOf(each.service)
      if (!this.#isServiceCurrent(key, each))
        writes.set(`service ${key}`, () => this.#syncService(gateway, each))
    }
    for (const service of plan.obsoleteServices) {
      const { uid } = service.metadata
      const { name, namespace } = service.metadata
      writes.set(`service ${keyOf(service)}`, async () => {
        await ignoreNotFound(
          this.#options.client.delete(services, { namespace, name }, { preconditions: { uid } }),
        )
      })
    }
    const wanted = new Set(plan.services.map(({ service }) => keyOf(service)))
    for (const key of this.#applied.keys()) if (!wanted.has(key)) this.#applied.delete(key)
    this.#writes = writes
    for (const key of writes.keys()) this.#queue.add(key)
  }

  #addStatuses(plan: GatewayPlan, writes: Map<string, Write>): void {
    const now = formatTime(this.#options.platform.clock.now())
    const observed = ({ metadata }: KubernetesObject): Observation => ({
      now,
      generation: metadata.generation,
    })
    const add = <T extends KubernetesObject>(
      resource: Resource<T>,
      object: Stored<T>,
      status: object,
    ): void => {
      const { status: before } = object as { readonly status?: unknown }
      if (equalJson(before, status)) return
      const key = `${resource.plural} ${keyOf(object)}`
      writes.set(key, signal => this.#updateStatus(resource, { ...object, status }, signal))
    }
    for (const { object, status } of plan.classes)
      add(gatewayClasses, object, classStatus(object, status, observed(object)))
    for (const { object, status } of plan.gateways)
      add(gateways, object, gatewayStatus(object, status, observed(object)))
    for (const { object, status } of plan.policies) {
      const made = policyStatus(object, status, observed(object))
      if (made !== undefined) add(backendTlsPolicies, object, made)
    }
    for (const { object, status, kind } of plan.routes) {
      const made = routeStatus(object, status, observed(object))
      if (made === undefined) continue
      if (kind === 'HTTPRoute') add(httpRoutes, object, made)
      else add(grpcRoutes, object, made)
    }
  }

  /** The change that made the object newer, or its deletion, causes another plan. */
  async #updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#options.client.updateStatus(resource, object, { signal, fieldManager })
    } catch (error) {
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'NotFound')) throw error
    }
  }

  #isServiceCurrent(key: string, plan: GatewayServicePlan): boolean {
    const { cache } = this.#options
    const applied = this.#applied.get(key)
    const isApplied = applied !== undefined && equalJson(applied, plan)
    const service = cache.service(key)
    const slice = cache.endpointSlice(key)
    return isApplied && isServiceCurrent(service, plan.service) && isSliceCurrent(slice, plan.endpointSlice)
  }

  async #syncService(gateway: PlannedService['gateway'], plan: GatewayServicePlan): Promise<void> {
    try {
      await this.#applyService(plan)
    } catch (error) {
      // A lost race is retried.
      if (!isApiError(error, 'Conflict')) {
        const message = `Error syncing Service ${plan.service.metadata.name}: ${messageOf(error)}`
        this.#recorder.record(gateway, { type: 'Warning', reason: 'SyncServiceFailed', message })
      }
      throw error
    }
  }

  async #applyService(plan: GatewayServicePlan): Promise<void> {
    const { client, cache } = this.#options
    const key = keyOf(plan.service)
    const applied = await client.apply(services, plan.service, { fieldManager, force: true })
    // Apply keeps ports that others have added.
    const service = isServiceCurrent(applied, plan.service)
      ? applied
      : await client.update(
          services,
          { ...applied, spec: { ...applied.spec, ...plan.service.spec } },
          { fieldManager },
        )
    const { name, uid } = service.metadata
    const owner = { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true }
    const { metadata } = plan.endpointSlice
    const known = cache.endpointSlice(key)
    // The address type cannot be changed.
    if (known !== undefined && known.addressType !== plan.endpointSlice.addressType)
      await ignoreNotFound(client.delete(endpointSlices, parseKey(key)))
    const slice = { ...plan.endpointSlice, metadata: { ...metadata, ownerReferences: [owner] } }
    await client.apply(endpointSlices, slice, { fieldManager, force: true })
    this.#applied.set(key, plan)
  }
}

async function ignoreNotFound(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    // A different object with this name is not ours to delete.
    if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error
  }
}
