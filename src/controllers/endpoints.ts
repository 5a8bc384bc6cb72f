/**
 * Maintains the legacy Endpoints object of each service with a selector, for clients that do not read
 * EndpointSlices.
 * https://kubernetes.io/docs/concepts/services-networking/service/#endpoints
 */
import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import { endpoints, pods, services } from '#/api/generated/core/v1-resources.ts'
import type { Endpoints } from '#/api/generated/core/v1.ts'
import { keyOf, type NamespacedName } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { planEndpoints } from './endpoints/plan.ts'
import { messageOf } from '#/base/message-of.ts'
import { hasSelector, ServiceSelectorIndex } from './service-endpoints/service-selector-index.ts'
import { TriggerTimes } from './service-endpoints/trigger-times.ts'

export interface EndpointsSettings {
  /** Debounce: pod changes within this time are handled in one sync. */
  readonly endpointUpdatesBatchPeriodMs?: number
}

export function endpointsController(settings: EndpointsSettings = {}): Controller {
  return {
    name: 'endpoints-controller',
    queueName: 'endpoint',
    account: 'endpoint-controller',
    setUp: context => setUp(context, settings),
  }
}

/** Legacy leader election locks are Endpoints without a service. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'

function setUp(
  context: ControllerContext,
  { endpointUpdatesBatchPeriodMs = 0 }: EndpointsSettings,
): Reconcile {
  const { recorder, informer, enqueue, background } = context
  const allServices = informer(services)
  const allEndpoints = informer(endpoints)
  const selectorIndex = new ServiceSelectorIndex({ services: allServices, pods: informer(pods) })
  const triggerTimes = new TriggerTimes()
  allServices.addEventHandler(key => enqueue(key))
  selectorIndex.enqueueOnChange(key => enqueue(key, endpointUpdatesBatchPeriodMs))
  allEndpoints.addEventHandler((key, { newObject }) => {
    if (newObject === undefined && allServices.get(key) !== undefined) enqueue(key)
  })
  // Finds Endpoints of services that were deleted while the controller was not running.
  background(async () => {
    for (const each of allEndpoints.list()) {
      if (each.metadata.annotations?.[leaderAnnotation] === undefined) enqueue(keyOf(each))
    }
  })

  return async ({ key, namespace, name, client }) => {
    const service = allServices.get(key)
    const current = allEndpoints.get(key)
    if (service === undefined) {
      triggerTimes.forget(key)
      return remove({ namespace, name }, current, client)
    }
    // The Endpoints of a service without a selector, or of type ExternalName, are not managed here.
    if (!hasSelector(service)) return undefined
    const podsOfService = selectorIndex.podsOf(service)
    const triggerTime = triggerTimes.observe(key, service, podsOfService)
    const planned = planEndpoints({ service, pods: podsOfService, current, triggerTime })
    if (planned === undefined) return undefined
    try {
      if (current === undefined) await client.create(endpoints, planned)
      else await client.update(endpoints, planned)
    } catch (error) {
      recordFailure({ key, planned, isNew: current === undefined, error })
      throw error
    }
    return undefined
  }

  function recordFailure({ key, planned, isNew, error }: Failure): void {
    // Losing a race is not a failure.
    if (isApiError(error, 'Conflict') || isApiError(error, 'AlreadyExists') || isNamespaceTerminating(error))
      return
    const what = isNew ? `create endpoint for service ${key}` : `update endpoint ${key}`
    const about = { apiVersion: 'v1', kind: 'Endpoints', metadata: planned.metadata }
    recorder.record(about, {
      type: 'Warning',
      reason: isNew ? 'FailedToCreateEndpoint' : 'FailedToUpdateEndpoint',
      message: `Failed to ${what}: ${messageOf(error)}`,
    })
  }
}

interface Failure {
  readonly key: string
  readonly planned: Endpoints
  readonly isNew: boolean
  readonly error: unknown
}

/**
 * Deletes unconditionally if the informer does not show the Endpoints yet: they may just have been created.
 */
async function remove(
  at: NamespacedName,
  known: Endpoints | undefined,
  client: ReconcileRequest['client'],
): Promise<void> {
  const uid = known?.metadata.uid
  try {
    await client.delete(endpoints, at, { ...(uid && { preconditions: { uid } }) })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
