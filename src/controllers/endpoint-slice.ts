/**
 * Maintains the EndpointSlices of services with a selector. The number of endpoints per slice is limited and
 * writes are minimized, since a service proxy on every node watches the slices. Slices are owned by their
 * service and garbage collected with it.
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/
 */
import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import { nodes, pods, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { managedBy, planSlices, wantsZoneHints } from './endpoint-slice/plan.ts'
import { isSameShare, zoneKeyOf, zoneShares, type ZoneShares } from './endpoint-slice/zone-shares.ts'
import { messageOf } from '#/base/message-of.ts'
import { hasSelector, ServiceSelectorIndex } from './service-endpoints/service-selector-index.ts'
import { onSliceChange, slicesByService } from './service-endpoints/slices.ts'
import { TriggerTimes } from './service-endpoints/trigger-times.ts'
import { writeSlices } from './service-endpoints/write-slices.ts'
import { podsByNode } from './pods.ts'

export interface EndpointSliceSettings {
  /** Maximum number of endpoints per slice; the API allows up to 1000. */
  readonly maxEndpointsPerSlice?: number
  /** Debounce: pod changes within this time are handled in one sync. */
  readonly endpointUpdatesBatchPeriodMs?: number
}

const maxEndpointsPerSliceUsual = 100

/** Debounce for changes of slices, which are mostly this controller's own writes. */
const sliceChangeMs = 1_000

export function endpointSliceController(settings: EndpointSliceSettings = {}): Controller {
  return {
    name: 'endpointslice-controller',
    account: 'endpointslice-controller',
    component: 'endpoint-slice-controller',
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: EndpointSliceSettings): Reconcile {
  const { maxEndpointsPerSlice = maxEndpointsPerSliceUsual, endpointUpdatesBatchPeriodMs = 0 } = settings
  const { recorder, informer, enqueue } = context
  const allServices = informer(services)
  const allPods = informer(pods)
  const allNodes = informer(nodes)
  const slicesOf = slicesByService(informer(endpointSlices), managedBy)
  const selectorIndex = new ServiceSelectorIndex({ services: allServices, pods: allPods })
  const triggerTimes = new TriggerTimes()
  const shares = enqueueOnNodeChange(context, selectorIndex)
  /** Last reported state of topology aware hints, by service and address type. */
  const reported = new Map<string, string>()
  allServices.addEventHandler(key => enqueue(key))
  selectorIndex.enqueueOnChange(key => enqueue(key, endpointUpdatesBatchPeriodMs))
  onSliceChange(informer(endpointSlices), managedBy, key => {
    enqueue(key, Math.max(sliceChangeMs, endpointUpdatesBatchPeriodMs))
  })

  return async ({ key, client }) => {
    const service = allServices.get(key)
    if (service === undefined || !hasSelector(service)) {
      triggerTimes.forget(key)
      for (const type of ['IPv4', 'IPv6']) reported.delete(`${key} ${type}`)
      return undefined
    }
    const podsOfService = selectorIndex.podsOf(service)
    const plan = planSlices({
      service,
      pods: podsOfService,
      nodeOf: name => allNodes.get(name),
      slices: slicesOf.get(key).filter(slice => !isBeingDeleted(slice)),
      maxEndpointsPerSlice,
      triggerTime: triggerTimes.observe(key, service, podsOfService),
      shares: wantsZoneHints(service) ? shares() : undefined,
    })
    await writeSlices(plan, client).catch((error: unknown) => {
      recordFailure(service, error)
      throw error
    })
    for (const [type, state] of plan.zoneHints) {
      const event = zoneHintsEvent(reported.get(`${key} ${type}`) ?? 'off', state, type)
      reported.set(`${key} ${type}`, state)
      if (event) recorder.record(service, event)
    }
    return undefined
  }

  function recordFailure(service: Stored<Service>, error: unknown): void {
    // Losing a race is not a failure.
    if (isApiError(error, 'Conflict') || isApiError(error, 'NotFound') || isNamespaceTerminating(error))
      return
    const { namespace = '', name } = service.metadata
    recorder.record(service, {
      type: 'Warning',
      reason: 'FailedToUpdateEndpointSlices',
      message: `Error updating Endpoint Slices for Service ${namespace}/${name}: ${messageOf(error)}`,
    })
  }
}

/**
 * Enqueues the services affected by node changes. Returns a function that computes the zone shares lazily.
 */
function enqueueOnNodeChange(
  { informer, enqueue }: ControllerContext,
  selectorIndex: ServiceSelectorIndex,
): () => ZoneShares | undefined {
  const allNodes = informer(nodes)
  const placed = podsByNode(informer(pods))
  const hintedServices = informer(services).index('zone-hints', service => {
    return wantsZoneHints(service) ? ['wanted'] : []
  })
  let known: { readonly shares: ZoneShares | undefined } | undefined
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    if (oldObject === undefined || newObject === undefined || zoneKeyOf(oldObject) !== zoneKeyOf(newObject)) {
      for (const pod of placed.get(name)) selectorIndex.servicesOf(pod).forEach(key => enqueue(key))
    }
    if (oldObject !== undefined && newObject !== undefined && isSameShare(oldObject, newObject)) return
    known = undefined
    for (const key of hintedServices.keys('wanted')) enqueue(key)
  })
  return () => {
    known ??= { shares: zoneShares(allNodes.list()) }
    return known.shares
  }
}

function zoneHintsEvent(oldObject: string, now: string, type: string): EventContent | undefined {
  const about = (text: string): string => `${text}, addressType: ${type}`
  if (oldObject === now || (now === 'off' && oldObject !== 'on')) return undefined
  if (now === 'on') {
    const message = about('Topology Aware Hints has been enabled')
    return { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }
  }
  const message = about(now === 'off' ? 'Topology Aware Hints has been disabled' : now)
  return { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message }
}
