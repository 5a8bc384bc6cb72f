/**
 * Mirrors manually written Endpoints of services without a selector to EndpointSlices, which service proxies
 * and other clients read.
 * https://kubernetes.io/docs/concepts/services-networking/service/#endpointslice-mirroring
 */
import { SliceMetrics } from './service-endpoints/slice-metrics.ts'
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { HistogramSeries, MetricsRegistry } from '#/base/metrics.ts'
import { endpoints, services } from '#/api/generated/core/v1-resources.ts'
import type { Endpoints, Service } from '#/api/generated/core/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { managedBy, mirroredMax, planMirror, type MirrorPlan } from './endpoint-slice-mirroring/plan.ts'
import { onSliceChange, slicesByService } from './service-endpoints/slices.ts'
import { writeSlices } from './service-endpoints/write-slices.ts'

export const endpointSliceMirroringController: Controller = {
  name: 'endpointslice-mirroring-controller',
  queueName: 'endpoint_slice_mirroring',
  account: 'endpointslicemirroring-controller',
  component: 'endpoint-slice-mirroring-controller',
  setUp,
}

const skipLabel = 'endpointslice.kubernetes.io/skip-mirror'
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'

function setUp({ platform, recorder, informer, enqueue, metrics }: ControllerContext): Reconcile {
  const { clock } = platform
  const measured = mirroringMetrics(metrics)
  const allServices = informer(services)
  const allEndpoints = informer(endpoints)
  const allSlices = informer(endpointSlices)
  const slicesOf = slicesByService(allSlices, managedBy)
  allServices.addEventHandler((key, { oldObject, newObject }) => {
    const isSame = oldObject && newObject && hasSelector(oldObject) === hasSelector(newObject)
    if (!isSame) enqueue(key)
  })
  allEndpoints.addEventHandler((key, { oldObject, newObject }) => {
    // Skips Endpoints of services with a selector, which are most of them and change with every pod.
    const service = allServices.get(key)
    const isMirrored = (oldObject && mayMirror(oldObject)) || (newObject && mayMirror(newObject))
    if (isMirrored && !(service && hasSelector(service))) enqueue(key)
  })
  onSliceChange(allSlices, managedBy, key => enqueue(key))

  return async ({ key, client }) => {
    const service = allServices.get(key)
    const custom = allEndpoints.get(key)
    const slices = slicesOf.get(key).filter(slice => !isBeingDeleted(slice))
    const isMirrored = service && !hasSelector(service) && custom && mayMirror(custom)
    if (!isMirrored) {
      const writes = { create: [], update: [], delete: slices }
      await writeSlices(writes, client)
      if (slices.length > 0) measured.slices.synced(key, slices, writes)
      return measured.slices.forget(key)
    }
    const startMs = clock.monotonicMs()
    const plan = planMirror(custom, slices)
    record(custom, plan)
    await writeSlices(plan, client)
    measured.skipped.observe(plan.skippedCount + plan.invalidCount)
    measured.updated.observe(measured.slices.synced(key, slices, plan))
    measured.durationSeconds.observe((clock.monotonicMs() - startMs) / 1_000)
    return undefined
  }

  function record(custom: Endpoints, { invalidCount, skippedCount }: MirrorPlan): void {
    if (invalidCount > 0) {
      const message = `Skipped ${invalidCount} invalid IP addresses when mirroring to EndpointSlices`
      recorder.record(custom, { type: 'Warning', reason: 'InvalidIPAddress', message })
    }
    if (skippedCount === 0) return
    const allowed = `A max of ${mirroredMax} addresses can be mirrored to EndpointSlices per Endpoints subset.`
    const message = `${allowed} ${skippedCount + invalidCount} addresses were skipped`
    recorder.record(custom, { type: 'Warning', reason: 'TooManyAddressesToMirror', message })
  }
}

function hasSelector({ spec }: Service): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0
}

function mayMirror({ metadata }: Endpoints): boolean {
  const isSkipped = metadata.labels?.[skipLabel] === 'true'
  return !isSkipped && metadata.annotations?.[leaderAnnotation] === undefined
}

interface MirroringMetrics {
  readonly slices: SliceMetrics
  readonly skipped: HistogramSeries
  readonly updated: HistogramSeries
  readonly durationSeconds: HistogramSeries
}

function mirroringMetrics(registry: MetricsRegistry): MirroringMetrics {
  const subsystem = 'endpoint_slice_mirroring_controller'
  const histogram = (name: string, help: string, buckets: readonly number[]): HistogramSeries =>
    registry.histogram({ name: `${subsystem}_${name}`, help, buckets, stability: 'ALPHA' }).with()
  const counts = exponentialBuckets(2, 2, 15)
  return {
    slices: new SliceMetrics({ registry, subsystem, endpointsPerSliceMax: mirroredMax }),
    skipped: histogram('addresses_skipped_per_sync', 'Addresses that were not mirrored.', counts),
    updated: histogram('endpoints_updated_per_sync', 'Endpoints changed by a reconcile.', counts),
    durationSeconds: histogram(
      'endpoints_sync_duration',
      'Duration of a reconcile, in seconds.',
      exponentialBuckets(0.001, 2, 15),
    ),
  }
}
