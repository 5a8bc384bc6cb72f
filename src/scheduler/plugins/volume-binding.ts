/**
 * Filters nodes by the availability of the pod's volumes. For claims with WaitForFirstConsumer, volumes are
 * chosen together with the node: they are reserved from then on, and the pod is bound only after its claims.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#node-affinity
 */
import { messageOf } from '#/base/message-of.ts'
import { withAnnotations } from '#/api/annotations.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers, csiStorageCapacities, storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { keyOf } from '#/api/metadata.ts'
import { boundVolume, isAvailable, selectedNode } from '#/api/persistent-volumes.ts'
import { quote } from '#/api/quote.ts'
import { storageClassOf } from '#/api/storage-classes.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { BindWork, CycleId, PluginContext, PluginFactory, Refusal } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'
import { PodWaits } from './pod-waits.ts'
import { Assumed } from './assumed.ts'
import { areBound } from './volume-binding/bound-yet.ts'
import { roomFor } from './volume-binding/free-storage.ts'
import {
  storageForPod,
  type StorageForPod,
  type StorageWorld,
  type VolumePlan,
} from './volume-binding/storage-for-pod.ts'
import { wakeUps } from './volume-binding/wake-ups.ts'

export const volumeBinding: PluginFactory = (context, parameters) => {
  const binder = new VolumeBinder(context, timeoutMs(parameters['bindTimeoutSeconds']))
  return {
    name: 'VolumeBinding',
    wakeUps,
    filter: ({ pod }) => {
      const storage = binder.storageFor(pod)
      if (storage === undefined || 'reason' in storage) return storage
      const { examine } = storage
      return { test: ({ node }) => examine(node) }
    },
    reserve: (pod, node, cycle) => binder.reserve(pod, node, cycle),
    unreserve: (_pod, _node, cycle) => binder.unreserve(cycle),
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

const nodeIsGone: Refusal = { reason: "node(s) didn't find available persistent volumes to bind" }

class VolumeBinder {
  readonly #context: PluginContext
  readonly #timeoutMs: number
  readonly #waits: PodWaits
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #volumes: Informer<PersistentVolume>
  readonly #assumedClaims: Assumed<PersistentVolumeClaim>
  readonly #assumedVolumes: Assumed<PersistentVolume>
  readonly #freeByClass: Index<PersistentVolume>
  readonly #byClaim: Index<PersistentVolume>
  readonly #world: StorageWorld
  readonly #plans = new WeakMap<CycleId, VolumePlan>()

  constructor(context: PluginContext, bindTimeoutMs: number) {
    this.#context = context
    this.#timeoutMs = bindTimeoutMs
    this.#waits = new PodWaits(context.platform.clock, context.informer(pods))
    this.#claims = context.informer(persistentVolumeClaims)
    this.#volumes = context.informer(persistentVolumes)
    this.#assumedClaims = new Assumed(this.#claims)
    this.#assumedVolumes = new Assumed(this.#volumes)
    this.#freeByClass = this.#volumes.index('free', volume => {
      return isAvailable(volume) ? [storageClassOf(volume)] : []
    })
    this.#byClaim = this.#volumes.index('claim', ({ spec }) => {
      const { namespace, name } = spec?.claimRef ?? {}
      return namespace && name ? [`${namespace}/${name}`] : []
    })
    const classes = context.informer(storageClasses)
    const drivers = context.informer(csiDrivers)
    const capacities = context
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
      roomFor: (claim, storageClass) => roomFor(claim, storageClass, capacityWorld),
    }
  }

  storageFor(pod: PodInfo['pod']): StorageForPod | Refusal | undefined {
    return storageForPod(pod, this.#world)
  }

  /** Searches volumes again, since other pods may have reserved some meanwhile, and reserves them. */
  reserve({ pod }: PodInfo, name: string, cycle: CycleId): Refusal | undefined {
    const storage = this.storageFor(pod)
    if (storage === undefined) return undefined
    if ('reason' in storage) return storage
    const node = this.#context.snapshot().get(name)?.node
    if (storage.isBound) return undefined
    if (node === undefined) return nodeIsGone
    const found: VolumePlan = { bindings: [], provisions: [] }
    const refusal = storage.examine(node, found)
    if (refusal !== undefined) return refusal
    const plan: VolumePlan = {
      bindings: found.bindings.map(({ volume, claim }) => ({ volume: boundVolume(volume, claim), claim })),
      provisions: found.provisions.map(claim => withAnnotations(claim, { [selectedNode]: name })),
    }
    for (const { volume } of plan.bindings) this.#assumedVolumes.assume(volume)
    for (const claim of plan.provisions) this.#assumedClaims.assume(claim)
    this.#plans.set(cycle, plan)
    return undefined
  }

  /** Written changes are kept: the claims keep their volumes. */
  unreserve(cycle: CycleId): void {
    const plan = this.#plans.get(cycle)
    if (plan === undefined) return
    this.#plans.delete(cycle)
    for (const { volume } of plan.bindings) this.#assumedVolumes.forget(volume)
    for (const claim of plan.provisions) this.#assumedClaims.forget(claim)
  }

  bind(pod: PodInfo, node: string, work: BindWork): Promise<void> | undefined {
    const plan = this.#plans.get(work.cycle)
    return plan && this.#write(plan, work).then(written => this.#waitForOthers(pod, node, written, work))
  }

  async #write(plan: VolumePlan, { client, signal }: BindWork): Promise<VolumePlan> {
    const written: VolumePlan = { bindings: [], provisions: [] }
    for (const { volume, claim } of plan.bindings) {
      const object = await client.update(persistentVolumes, volume, { signal })
      this.#assumedVolumes.assume(object)
      written.bindings.push({ volume: object, claim })
    }
    for (const claim of plan.provisions) {
      const object = await client.update(persistentVolumeClaims, claim, { signal })
      this.#assumedClaims.assume(object)
      written.provisions.push(object)
    }
    return written
  }

  async #waitForOthers(pod: PodInfo, name: string, written: VolumePlan, { signal }: BindWork): Promise<void> {
    const [claims, volumes] = [this.#claims, this.#volumes]
    const isDone = (): boolean => {
      const node = this.#context.snapshot().get(name)?.node
      if (node === undefined)
        throw new Error(`failed to get node ${quote(name)}: node ${quote(name)} not found`)
      return areBound(written, {
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

  #candidates(claim: PersistentVolumeClaim): readonly PersistentVolume[] {
    const wanted = storageClassOf(claim)
    const names = new Set([...this.#byClaim.keys(keyOf(claim)), ...this.#freeByClass.keys(wanted)])
    return [...names].flatMap(name => {
      const volume = this.#assumedVolumes.get(name)
      return volume !== undefined && storageClassOf(volume) === wanted ? [volume] : []
    })
  }
}
