/**
 * Evicts pods that use devices with NoExecute taints which their claims do not tolerate, immediately or after
 * `tolerationSeconds`. Only taints that drivers publish in ResourceSlices are considered; DeviceTaintRules,
 * which are disabled by default, are not implemented.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations
 */
import { evictionMetrics, type EvictionMetrics } from './shared/eviction-metrics.ts'
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type {
  Device,
  ResourceClaim,
  ResourceSlice,
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceToleration,
} from '#/api/generated/resource/v1.ts'
import { resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import {
  hasSameClaims,
  resourceClaimNameOf,
  isReservedFor,
  isClaimUsableByPod,
} from '#/api/core/pod-resource-claims.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { toleratesDeviceTaint } from '#/api/core/device-taints.ts'
import { compareInt64, type Int64 } from '#/api/text/int64.ts'
import type { Controller, ControllerContext, ReconcileRequest } from './controller.ts'
import { isPodTerminal } from './pods.ts'

export const deviceTaintEvictionController: Controller = {
  name: 'device-taint-eviction-controller',
  account: 'device-taint-eviction-controller',
  workers: 8,
  setUp: context => {
    const eviction = new DeviceTaintEviction(context)
    return request => eviction.reconcile(request)
  },
}

class DeviceTaintEviction {
  readonly #context: ControllerContext
  readonly #pods: Informer<Pod>
  readonly #claims: Informer<ResourceClaim>
  readonly #slices: Index<Stored<ResourceSlice>>
  readonly #claimsByDevice: Index<Stored<ResourceClaim>>
  /** The uids of pods that are scheduled for eviction, by pod key. */
  readonly #scheduledEvictions = new Map<string, string>()
  readonly #evictions: EvictionMetrics

  constructor(context: ControllerContext) {
    const { informer, enqueue } = context
    this.#context = context
    this.#evictions = evictionMetrics(context.metrics, 'device_taint_eviction_controller')
    this.#pods = informer(pods)
    this.#claims = informer(resourceClaims)
    const slices = informer(resourceSlices)
    this.#slices = slices.index('pool', ({ spec }) => [poolKey(spec.driver, spec.pool.name)])
    this.#claimsByDevice = this.#claims.index('device', devicesOf)
    this.#pods.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined) this.#scheduledEvictions.delete(key)
      else if (usesClaims(newObject) && !(oldObject && hasSameClaims(oldObject, newObject))) enqueue(key)
    })
    this.#claims.addEventHandler((_key, { oldObject, newObject }) => {
      if (equalJson(oldObject?.status, newObject?.status)) return
      for (const claim of [oldObject, newObject]) if (claim) this.#enqueueConsumers(claim)
    })
    slices.addEventHandler((_key, { oldObject, newObject }) => this.#onSlice(oldObject, newObject))
  }

  #onSlice(before: ResourceSlice | undefined, after: ResourceSlice | undefined): void {
    const { driver, pool } = (after ?? before)?.spec ?? {}
    if (driver === undefined || pool === undefined) return
    const taintsBefore = noExecuteTaints(before)
    const taintsAfter = noExecuteTaints(after)
    const isOtherGeneration = before?.spec.pool.generation !== after?.spec.pool.generation
    for (const device of new Set([...taintsBefore.keys(), ...taintsAfter.keys()])) {
      if (!isOtherGeneration && equalJson(taintsBefore.get(device), taintsAfter.get(device))) continue
      for (const claim of this.#claimsByDevice.get(deviceKey(driver, pool.name, device)))
        this.#enqueueConsumers(claim)
    }
  }

  #enqueueConsumers({ metadata, status }: ResourceClaim): void {
    for (const { apiGroup = '', resource, name } of status?.reservedFor ?? []) {
      if (apiGroup === '' && resource === 'pods') this.#context.enqueue(`${metadata.namespace ?? ''}/${name}`)
    }
  }

  async reconcile({
    key,
    namespace,
    client,
    signal,
  }: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const { clock } = this.#context.platform
    const pod = this.#pods.get(key)
    if (pod === undefined || isBeingDeleted(pod) || isPodTerminal(pod)) return undefined
    const dueMs = evictionTimeMs(pod, {
      claimNamed: name => this.#claims.get(`${namespace}/${name}`),
      slicesOf: (driver, pool) => this.#slices.get(poolKey(driver, pool)),
    })
    const uid = pod.metadata.uid
    if (dueMs === undefined) {
      if (this.#scheduledEvictions.get(key) === uid) this.#record(pod, 'Cancelling deletion')
      this.#scheduledEvictions.delete(key)
      return undefined
    }
    if (dueMs > clock.now()) {
      this.#scheduledEvictions.set(key, uid)
      return { requeueAfterMs: dueMs - clock.now() }
    }
    this.#scheduledEvictions.delete(key)
    this.#record(pod, 'Marking for deletion')
    await this.#evict(pod, client, signal)
    this.#evictions.podDeletions.add()
    this.#evictions.podDeletionSeconds.observe((clock.now() - dueMs) / 1_000)
    return undefined
  }

  #record(pod: Pod, message: string): void {
    this.#context.recorder.record(pod, { type: 'Normal', reason: 'DeviceTaintManagerEviction', message })
  }

  async #evict(pod: Stored<Pod>, client: ReconcileRequest['client'], signal: AbortSignal): Promise<void> {
    const { namespace = '', name, uid } = pod.metadata
    const conditions = withCondition(pod.status?.conditions, {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByDeviceTaintManager',
      message: 'Device Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: formatTime(this.#context.platform.clock.now()),
    })
    try {
      if (conditions !== pod.status?.conditions) {
        await client.updateStatus(pods, { ...pod, status: { ...pod.status, conditions } }, { signal })
      }
      await client.delete(pods, { namespace, name }, { preconditions: { uid }, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function usesClaims({ spec }: Pod): boolean {
  return (spec?.resourceClaims?.length ?? 0) > 0
}

function devicesOf({ status }: ResourceClaim): readonly string[] {
  return (status?.allocation?.devices?.results ?? []).map(each =>
    deviceKey(each.driver, each.pool, each.device),
  )
}

/** NoExecute taints by device name; devices without any are omitted. */
function noExecuteTaints(slice: ResourceSlice | undefined): ReadonlyMap<string, Device['taints']> {
  const tainted = (slice?.spec.devices ?? []).filter(({ taints }) => taints?.some(isNoExecute))
  return new Map(tainted.map(({ name, taints }) => [name, taints?.filter(isNoExecute)]))
}

/** The separator is a space, since pool names may contain slashes. */
function poolKey(driver: string, pool: string): string {
  return `${driver} ${pool}`
}

function deviceKey(driver: string, pool: string, device: string): string {
  return `${poolKey(driver, pool)} ${device}`
}

interface DevicesWorld {
  readonly claimNamed: (name: string) => ResourceClaim | undefined
  /** All slices of a pool, including outdated generations. */
  readonly slicesOf: (driver: string, pool: string) => readonly Stored<ResourceSlice>[]
}

/** Time at which a pod must be evicted because of device taints; undefined if it may stay. */
export function evictionTimeMs(pod: Pod, { claimNamed, slicesOf }: DevicesWorld): number | undefined {
  if (!pod.spec?.nodeName) return undefined
  const times = (pod.spec.resourceClaims ?? []).flatMap(entry => {
    const known = resourceClaimNameOf(pod, entry)
    const claim = typeof known === 'string' ? undefined : claimNamed(known.name)
    if (typeof known === 'string' || claim === undefined) return []
    if (!isClaimUsableByPod(claim, pod, known.isGenerated) || !isReservedFor(claim, pod)) return []
    return (claim.status?.allocation?.devices?.results ?? []).flatMap(device => {
      return taintsOf(device, slicesOf(device.driver, device.pool)).flatMap(({ taint, sinceMs }) => {
        const toleratedMs = tolerationMs(taint, device.tolerations ?? [])
        return toleratedMs === Infinity ? [] : [sinceMs + toleratedMs]
      })
    })
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

interface NoExecuteTaint {
  readonly taint: DeviceTaint
  readonly sinceMs: number
}

/** NoExecute taints of a device according to the newest generation of the pool. */
function taintsOf(
  { device: name }: DeviceRequestAllocationResult,
  slices: readonly Stored<ResourceSlice>[],
): readonly NoExecuteTaint[] {
  const newest = slices.reduce<Int64>((highest, { spec }) => {
    return compareInt64(spec.pool.generation, highest) > 0 ? spec.pool.generation : highest
  }, 0)
  return slices
    .filter(({ spec }) => compareInt64(spec.pool.generation, newest) === 0)
    .flatMap(({ metadata, spec }) => {
      const device = spec.devices?.find(each => each.name === name)
      return (device?.taints ?? []).filter(isNoExecute).map(taint => {
        return { taint, sinceMs: parseTime(taint.timeAdded ?? metadata.creationTimestamp) ?? 0 }
      })
    })
}

function isNoExecute({ effect }: DeviceTaint): boolean {
  return effect === 'NoExecute'
}

/**
 * Time for which a taint is tolerated: the minimum `tolerationSeconds` of the matching tolerations; Infinity
 * if one of them has none.
 */
function tolerationMs(taint: DeviceTaint, tolerations: readonly DeviceToleration[]): number {
  const matching = tolerations.filter(
    each => each.effect === taint.effect && toleratesDeviceTaint(each, taint),
  )
  if (matching.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return Infinity
  if (matching.length === 0) return 0
  return Math.min(...matching.map(each => Math.max(0, Number(each.tolerationSeconds)) * 1_000))
}
