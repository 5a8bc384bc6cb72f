/**
 * Filters nodes by the availability of the pod's volumes. For claims with WaitForFirstConsumer, volumes are
 * chosen together with the node: they are reserved from then on, and the pod is bound only after its claims.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#node-affinity
 */
import { messageOf } from '#/base/message-of.ts'
import { withAnnotations, keyOf, type Stored } from '#/api/metadata.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers, csiStorageCapacities, storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { boundVolume, isAvailable, selectedNodeAnnotation } from '#/api/core/persistent-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { BindWork, CycleState, PluginHandle, PluginFactory, Unschedulable } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'
import { BindingWaits } from './binding-waits.ts'
import { AssumeCache } from './assume-cache.ts'
import { checkBindings } from './volume-binding/check-bindings.ts'
import { hasEnoughCapacity } from './volume-binding/storage-capacity.ts'
import {
  podVolumeClaims,
  type PodVolumeClaims,
  type StorageWorld,
  type VolumePlan,
} from './volume-binding/pod-volume-claims.ts'
import { eventsToRegister } from './volume-binding/events-to-register.ts'

export const volumeBinding: PluginFactory = (handle, args) => {
  const binder = new VolumeBinder(handle, timeoutMs(args['bindTimeoutSeconds']))
  return {
    name: 'VolumeBinding',
    eventsToRegister,
    preFilter: ({ pod }) => {
      const storage = binder.storageFor(pod)
      if (storage === undefined || 'reason' in storage) return storage
      const { findPodVolumes } = storage
      return { filter: ({ node }) => findPodVolumes(node) }
    },
    reserve: (pod, node, cycleState) => binder.reserve(pod, node, cycleState),
    unreserve: (_pod, _node, cycleState) => binder.unreserve(cycleState),
    preBind: (pod, node, work) => binder.bind(pod, node, work),
  }
}

/** Default timeout for binding the claims of a pod. */
const bindTimeoutSecondsUsual = 600

function timeoutMs(seconds: unknown): number {
  if (seconds === undefined) return bindTimeoutSecondsUsual * 1_000
  if (typeof seconds !== 'number' || !(seconds >= 0))
    throw new Error(`bindTimeoutSeconds: invalid value: ${JSON.stringify(seconds)}, should be greater than 0`)
  return seconds * 1_000
}

const nodeIsGone: Unschedulable = { reason: "node(s) didn't find available persistent volumes to bind" }

class VolumeBinder {
  readonly #handle: PluginHandle
  readonly #timeoutMs: number
  readonly #waits: BindingWaits
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #volumes: Informer<PersistentVolume>
  readonly #assumedClaims: AssumeCache<PersistentVolumeClaim>
  readonly #assumedVolumes: AssumeCache<PersistentVolume>
  readonly #freeByClass: Index<Stored<PersistentVolume>>
  readonly #byClaim: Index<Stored<PersistentVolume>>
  readonly #world: StorageWorld
  readonly #plans = new WeakMap<CycleState, VolumePlan>()

  constructor(handle: PluginHandle, bindTimeoutMs: number) {
    this.#handle = handle
    this.#timeoutMs = bindTimeoutMs
    this.#waits = new BindingWaits(handle.platform.clock, handle.informer(pods))
    this.#claims = handle.informer(persistentVolumeClaims)
    this.#volumes = handle.informer(persistentVolumes)
    this.#assumedClaims = new AssumeCache(this.#claims)
    this.#assumedVolumes = new AssumeCache(this.#volumes)
    this.#freeByClass = this.#volumes.index('free', volume => {
      return isAvailable(volume) ? [storageClassOf(volume)] : []
    })
    this.#byClaim = this.#volumes.index('claim', ({ spec }) => {
      const { namespace, name } = spec?.claimRef ?? {}
      return namespace && name ? [`${namespace}/${name}`] : []
    })
    const classes = handle.informer(storageClasses)
    const drivers = handle.informer(csiDrivers)
    const capacities = handle
      .informer(csiStorageCapacities)
      .index('class', ({ storageClassName }) => [storageClassName])
    const capacityWorld = {
      driver: (name: string) => drivers.get(name),
      capacities: (name: string) => capacities.get(name),
    }
    this.#world = {
      claim: key => this.#claims.get(key),
      assumedClaim: key => this.#assumedClaims.get(key),
      assumedVolume: name => this.#assumedVolumes.get(name),
      candidates: claim => this.#candidates(claim),
      storageClass: name => classes.get(name),
      hasEnoughCapacity: (claim, storageClass) => hasEnoughCapacity(claim, storageClass, capacityWorld),
    }
  }

  storageFor(pod: PodInfo['pod']): PodVolumeClaims | Unschedulable | undefined {
    return podVolumeClaims(pod, this.#world)
  }

  /** Searches volumes again, since other pods may have reserved some meanwhile, and reserves them. */
  reserve({ pod }: PodInfo, name: string, cycleState: CycleState): Unschedulable | undefined {
    const storage = this.storageFor(pod)
    if (storage === undefined) return undefined
    if ('reason' in storage) return storage
    const node = this.#handle.snapshot().get(name)?.node
    if (storage.isBound) return undefined
    if (node === undefined) return nodeIsGone
    const found: VolumePlan = { bindings: [], provisionedClaims: [] }
    const status = storage.findPodVolumes(node, found)
    if (status !== undefined) return status
    const plan: VolumePlan = {
      bindings: found.bindings.map(({ volume, claim }) => ({ volume: boundVolume(volume, claim), claim })),
      provisionedClaims: found.provisionedClaims.map(claim =>
        withAnnotations(claim, { [selectedNodeAnnotation]: name }),
      ),
    }
    for (const { volume } of plan.bindings) this.#assumedVolumes.assume(volume)
    for (const claim of plan.provisionedClaims) this.#assumedClaims.assume(claim)
    this.#plans.set(cycleState, plan)
    return undefined
  }

  /** Written changes are kept: the claims keep their volumes. */
  unreserve(cycleState: CycleState): void {
    const plan = this.#plans.get(cycleState)
    if (plan === undefined) return
    this.#plans.delete(cycleState)
    for (const { volume } of plan.bindings) this.#assumedVolumes.forget(volume)
    for (const claim of plan.provisionedClaims) this.#assumedClaims.forget(claim)
  }

  bind(pod: PodInfo, node: string, work: BindWork): Promise<void> | undefined {
    const plan = this.#plans.get(work.cycleState)
    return plan && this.#write(plan, work).then(written => this.#waitForOthers(pod, { node, written }, work))
  }

  async #write(plan: VolumePlan, { client, signal }: BindWork): Promise<VolumePlan> {
    const written: VolumePlan = { bindings: [], provisionedClaims: [] }
    for (const { volume, claim } of plan.bindings) {
      const object = await client.update(persistentVolumes, volume, { signal })
      this.#assumedVolumes.assume(object)
      written.bindings.push({ volume: object, claim })
    }
    for (const claim of plan.provisionedClaims) {
      const object = await client.update(persistentVolumeClaims, claim, { signal })
      this.#assumedClaims.assume(object)
      written.provisionedClaims.push(object)
    }
    return written
  }

  async #waitForOthers(
    pod: PodInfo,
    { node: name, written }: { readonly node: string; readonly written: VolumePlan },
    { signal }: BindWork,
  ): Promise<void> {
    const [claims, volumes] = [this.#claims, this.#volumes]
    const isDone = (): boolean => {
      const node = this.#handle.snapshot().get(name)?.node
      if (node === undefined)
        throw new Error(`failed to get node ${quote(name)}: node ${quote(name)} not found`)
      return checkBindings(written, {
        node,
        volume: each => volumes.get(each),
        claim: key => claims.get(key),
        hasSeenVolume: version => volumes.isCurrent(version),
        hasSeenClaim: version => claims.isCurrent(version),
      })
    }
    try {
      const informers = [claims, volumes]
      await this.#waits.until(pod, isDone, { informers, timeoutMs: this.#timeoutMs, signal })
    } catch (cause) {
      if (signal.aborted) throw cause
      throw new Error(`binding volumes: ${messageOf(cause)}`, { cause })
    }
  }

  #candidates(claim: Stored<PersistentVolumeClaim>): readonly Stored<PersistentVolume>[] {
    const wanted = storageClassOf(claim)
    const names = new Set([...this.#byClaim.keys(keyOf(claim)), ...this.#freeByClass.keys(wanted)])
    return [...names].flatMap(name => {
      const volume = this.#assumedVolumes.get(name)
      return volume !== undefined && storageClassOf(volume) === wanted ? [volume] : []
    })
  }
}
