/**
 * Evicts pods that use devices with NoExecute taints which their claims do not tolerate, immediately or after
 * `tolerationSeconds`. Only taints that drivers publish in ResourceSlices are considered; DeviceTaintRules,
 * which are disabled by default, are not implemented.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations
 */
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Device, ResourceClaim, ResourceSlice } from '#/api/generated/resource/v1.ts'
import { resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { hasSameClaims } from '#/api/pod-resource-claims.ts'
import { formatTime } from '#/api/time.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, Work } from './controller.ts'
import { evictionTimeMs, isDriving } from './device-taint-eviction/eviction-time.ts'
import { isPodFinished } from './pods.ts'

export const deviceTaintEvictionController: Controller = {
  name: 'device-taint-eviction-controller',
  account: 'device-taint-eviction-controller',
  workers: 8,
  setUp: context => {
    const eviction = new DeviceTaintEviction(context)
    return work => eviction.look(work)
  },
}

class DeviceTaintEviction {
  readonly #context: ControllerContext
  readonly #pods: Informer<Pod>
  readonly #claims: Informer<ResourceClaim>
  readonly #slices: Index<ResourceSlice>
  readonly #claimsByDevice: Index<ResourceClaim>
  /** The uids of pods that are scheduled for eviction, by pod key. */
  readonly #leaving = new Map<string, string>()

  constructor(context: ControllerContext) {
    const { informer, enqueue } = context
    this.#context = context
    this.#pods = informer(pods)
    this.#claims = informer(resourceClaims)
    const slices = informer(resourceSlices)
    this.#slices = slices.index('pool', ({ spec }) => [poolKey(spec.driver, spec.pool.name)])
    this.#claimsByDevice = this.#claims.index('device', devicesOf)
    this.#pods.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined) this.#leaving.delete(key)
      else if (usesClaims(newObject) && !(oldObject && hasSameClaims(oldObject, newObject))) enqueue(key)
    })
    this.#claims.addEventHandler((_key, { oldObject, newObject }) => {
      if (equalJson(oldObject?.status, newObject?.status)) return
      for (const claim of [oldObject, newObject]) if (claim) this.#wakeConsumers(claim)
    })
    slices.addEventHandler((_key, { oldObject, newObject }) => this.#onSlice(oldObject, newObject))
  }

  #onSlice(before: ResourceSlice | undefined, after: ResourceSlice | undefined): void {
    const { driver, pool } = (after ?? before)?.spec ?? {}
    if (driver === undefined || pool === undefined) return
    const taintsBefore = drivingTaints(before)
    const taintsAfter = drivingTaints(after)
    const isOtherGeneration = before?.spec.pool.generation !== after?.spec.pool.generation
    for (const device of new Set([...taintsBefore.keys(), ...taintsAfter.keys()])) {
      if (!isOtherGeneration && equalJson(taintsBefore.get(device), taintsAfter.get(device))) continue
      for (const claim of this.#claimsByDevice.get(deviceKey(driver, pool.name, device)))
        this.#wakeConsumers(claim)
    }
  }

  #wakeConsumers({ metadata, status }: ResourceClaim): void {
    for (const { apiGroup = '', resource, name } of status?.reservedFor ?? []) {
      if (apiGroup === '' && resource === 'pods')
        this.#context.enqueue(`${metadata?.namespace ?? ''}/${name}`)
    }
  }

  async look({ key, namespace, client, signal }: Work): Promise<ReconcileResult | undefined> {
    const { clock } = this.#context.platform
    const pod = this.#pods.get(key)
    if (pod === undefined || isBeingDeleted(pod) || isPodFinished(pod)) return undefined
    const dueMs = evictionTimeMs(pod, {
      claimNamed: name => this.#claims.get(`${namespace}/${name}`),
      slicesOf: (driver, pool) => this.#slices.get(poolKey(driver, pool)),
    })
    const uid = pod.metadata?.uid ?? ''
    if (dueMs === undefined) {
      if (this.#leaving.get(key) === uid) this.#record(pod, 'Cancelling deletion')
      this.#leaving.delete(key)
      return undefined
    }
    if (dueMs > clock.now()) {
      this.#leaving.set(key, uid)
      return { requeueAfterMs: dueMs - clock.now() }
    }
    this.#leaving.delete(key)
    this.#record(pod, 'Marking for deletion')
    await this.#evict(pod, client, signal)
    return undefined
  }

  #record(pod: Pod, message: string): void {
    this.#context.recorder.record(pod, { type: 'Normal', reason: 'DeviceTaintManagerEviction', message })
  }

  async #evict(pod: Pod, client: Work['client'], signal: AbortSignal): Promise<void> {
    const { namespace = '', name = '', uid = '' } = pod.metadata ?? {}
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
function drivingTaints(slice: ResourceSlice | undefined): ReadonlyMap<string, Device['taints']> {
  const tainted = (slice?.spec.devices ?? []).filter(({ taints }) => taints?.some(isDriving))
  return new Map(tainted.map(({ name, taints }) => [name, taints?.filter(isDriving)]))
}

/** The separator is a space, since pool names may contain slashes. */
function poolKey(driver: string, pool: string): string {
  return `${driver} ${pool}`
}

function deviceKey(driver: string, pool: string, device: string): string {
  return `${poolKey(driver, pool)} ${device}`
}
