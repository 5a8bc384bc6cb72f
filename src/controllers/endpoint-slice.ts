/**
 * Maintains the EndpointSlices of services with a selector. The number of endpoints per slice is limited and
 * writes are minimized, since a service proxy on every node watches the slices. Slices are owned by their
 * service and garbage collected with it.
 * https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/
 */
import { SliceMetrics } from './service-endpoints/slice-metrics.ts'
import type { Histogram, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
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
    queueName: 'endpoint_slice',
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
  const metrics = endpointSliceMetrics(context.metrics, maxEndpointsPerSlice, () => allServices.list())
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
      metrics.slices.forget(key)
      return undefined
    }
    const podsOfService = selectorIndex.podsOf(service)
    const slices = slicesOf.get(key).filter(slice => !isBeingDeleted(slice))
    const plan = planSlices({
      service,
      pods: podsOfService,
      nodeOf: name => allNodes.get(name),
      slices,
      maxEndpointsPerSlice,
      triggerTime: triggerTimes.observe(key, service, podsOfService),
      shares: wantsZoneHints(service) ? shares() : undefined,
    })
    await writeSlices(plan, client).catch((error: unknown) => {
      metrics.syncs.with(isApiError(error, 'Conflict') ? 'stale' : 'error').add()
      recordFailure(service, error)
      throw error
    })
    metrics.syncs.with('success').add()
    metrics.slices.synced(key, slices, plan)
    const changed = plan.create.length + plan.update.length + plan.delete.length
    const topology = wantsZoneHints(service) ? 'Auto' : 'Disabled'
    metrics.changedPerSync.with(topology, service.spec?.trafficDistribution ?? '').observe(changed)
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

interface EndpointSliceMetrics {
  readonly slices: SliceMetrics
  readonly syncs: ScalarMetric
  readonly changedPerSync: Histogram
}

function endpointSliceMetrics(
  registry: MetricsRegistry,
  endpointsPerSliceMax: number,
  list: () => readonly Service[],
): EndpointSliceMetrics {
  const subsystem = 'endpoint_slice_controller'
  const stability = 'ALPHA'
  registry.callbackMetric({
    name: `${subsystem}_services_count_by_traffic_distribution`,
    help: 'Services with a trafficDistribution, by its value.',
    type: 'gauge',
    labels: ['traffic_distribution'],
    stability,
    read: () => {
      const counts = Object.groupBy(list(), ({ spec }) => spec?.trafficDistribution ?? '')
      return Object.entries(counts).flatMap(([value, found = []]) => {
        return value === '' ? [] : [[[value], found.length] as const]
      })
    },
  })
  return {
    slices: new SliceMetrics({ registry, subsystem, endpointsPerSliceMax }),
    syncs: registry.counter({
      name: `${subsystem}_syncs`,
      help: 'Reconciles of services; stale if a slice had changed meanwhile.',
      labels: ['result'],
      stability,
    }),
    changedPerSync: registry.histogram({
      name: `${subsystem}_endpointslices_changed_per_sync`,
      help: 'EndpointSlices changed by a reconcile.',
      labels: ['topology', 'traffic_distribution'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      stability,
    }),
  }
}
