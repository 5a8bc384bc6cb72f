/**
 * Binds claims and volumes, provisions volumes for claims without a match, and reclaims released volumes
 * according to their policy. Decisions are in `plan-claim.ts` and `plan-volume.ts`; crash-safe binding is in
 * `write.ts`.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/
 */
import { addVolumeMetrics } from './persistent-volume-binder/volume-metrics.ts'
import type { ScalarSeries } from '#/base/metrics.ts'
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { keyOf, parseKey, type Stored } from '#/api/metadata.ts'
import { isVolumeBoundToClaim } from '#/api/core/persistent-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import { defaultClassOf, storageClassOf } from '#/api/core/storage-classes.ts'
import type { Client } from '#/client/client.ts'
import type { Index } from '#/client/indexer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, ReconcileRequest } from './controller.ts'
import { unboundStatus } from './persistent-volume-binder/bound.ts'
import { AssumeCache } from './persistent-volume-binder/assume-cache.ts'
import { withMigrationAnnotations } from './persistent-volume-binder/csi-migration.ts'
import { planVolumeClaim, type VolumeClaimPlan } from './persistent-volume-binder/plan-volume-claim.ts'
import { planVolume } from './persistent-volume-binder/plan-volume.ts'
import { provision, type Provisioning } from './persistent-volume-binder/provision.ts'
import { reclaim } from './persistent-volume-binder/reclaim.ts'
import {
  availableByClass,
  volumesByClaim,
  enqueueOnChange,
  type BinderInformers,
} from './persistent-volume-binder/event-handlers.ts'
import {
  bind,
  setClaimStatus,
  setPhase,
  unbind,
  updateClaim,
  updateVolume,
} from './persistent-volume-binder/write.ts'
import { isPodTerminated, podsByClaim } from './shared/pod-volumes.ts'
import type { Provisioner } from './shared/provisioner.ts'

export interface PersistentVolumeBinderSettings {
  /** In-process provisioners; all others are external. */
  readonly provisioners?: readonly Provisioner[]
}

export function persistentVolumeBinderController(settings: PersistentVolumeBinderSettings = {}): Controller {
  return {
    name: 'persistentvolume-binder-controller',
    account: 'persistent-volume-binder',
    component: 'persistentvolume-controller',
    setUp: context => {
      const binder = new Binder(context, settings)
      return work => binder.work(work)
    },
  }
}

/** Retry delay of a claim if a candidate volume is being bound to another claim. */
const contendedMs = 5

class Binder {
  readonly #recorder: ControllerContext['recorder']
  readonly #enqueue: ControllerContext['enqueue']
  readonly #provisioners: ReadonlyMap<string, Provisioner>
  readonly #informers: BinderInformers
  readonly #volumes: AssumeCache<PersistentVolume>
  readonly #claims: AssumeCache<PersistentVolumeClaim>
  readonly #available: Index<Stored<PersistentVolume>>
  readonly #volumesByClaim: Index<Stored<PersistentVolume>>
  readonly #podsByClaim: Index<Stored<Pod>>
  /** Names of volumes that are being bound. */
  readonly #binding = new Set<string>()
  readonly #classesAssigned: ScalarSeries
  readonly #classErrors: ScalarSeries

  constructor(
    { recorder, informer, enqueue, metrics }: ControllerContext,
    { provisioners = [] }: PersistentVolumeBinderSettings,
  ) {
    this.#recorder = recorder
    this.#enqueue = enqueue
    this.#provisioners = new Map(provisioners.map(provisioner => [provisioner.name, provisioner]))
    this.#informers = {
      claims: informer(persistentVolumeClaims),
      volumes: informer(persistentVolumes),
      classes: informer(storageClasses),
      pods: informer(pods),
      nodes: informer(nodes),
    }
    this.#volumes = new AssumeCache(this.#informers.volumes)
    this.#claims = new AssumeCache(this.#informers.claims)
    this.#available = availableByClass(this.#informers.volumes)
    this.#volumesByClaim = volumesByClaim(this.#informers.volumes)
    this.#podsByClaim = podsByClaim(this.#informers.pods)
    enqueueOnChange(this.#informers, key => enqueue(key))
    addVolumeMetrics({ registry: metrics, ...this.#informers })
    const counter = (name: string, help: string): ScalarSeries =>
      metrics.counter({ name: `retroactive_storageclass_${name}`, help, stability: 'ALPHA' }).with()
    this.#classesAssigned = counter(
      'total',
      'Claims that got the default storage class after their creation.',
    )
    this.#classErrors = counter('errors_total', 'Failures to set the default storage class of a claim.')
  }

  /** Only keys of claims have a namespace. */
  async work({ key, namespace, client }: ReconcileRequest): Promise<void | ReconcileResult> {
    return namespace === '' ? this.#workOnVolume(key, client) : this.#workOnClaim(key, client)
  }

  async #workOnClaim(key: string, client: Client): Promise<void | ReconcileResult> {
    const claim = this.#claims.get(key)
    if (claim === undefined) return undefined
    const candidates = this.#candidates(claim)
    const free = candidates.filter(volume => !this.#binding.has(volume.metadata.name))
    const plan = await this.#planClaim(claim, free, client)
    if (plan.do !== 'bind' && free.length < candidates.length) return { requeueAfterMs: contendedMs }
    const writing = this.#provisioning(client)
    switch (plan.do) {
      case 'nothing':
        return undefined
      case 'bind':
        return this.#bind(client, plan.volume, claim)
      case 'wait':
        if (plan.event) this.#recorder.record(claim, plan.event)
        await setClaimStatus(writing, claim, unboundStatus(claim, 'Pending'))
        return undefined
      case 'lose':
        if (claim.status?.phase === 'Lost') return undefined
        this.#recorder.record(await setClaimStatus(writing, claim, unboundStatus(claim, 'Lost')), plan.event)
        return undefined
      case 'assign-class': {
        const spec = { ...claim.spec, storageClassName: plan.storageClass }
        this.#classesAssigned.add()
        try {
          await updateClaim(writing, { ...claim, spec }, claim)
        } catch (error) {
          this.#classErrors.add()
          throw error
        }
        return undefined
      }
      case 'provision': {
        const provisioned = await provision(writing, claim, plan.storageClass)
        if (provisioned && isVolumeBoundToClaim(provisioned.volume, provisioned.claim))
          await this.#bind(client, provisioned.volume, provisioned.claim)
        return undefined
      }
    }
  }

  async #planClaim(
    claim: Stored<PersistentVolumeClaim>,
    candidates: readonly Stored<PersistentVolume>[],
    client: Client,
  ): Promise<VolumeClaimPlan> {
    const { classes } = this.#informers
    const name = claim.spec?.volumeName
    const world = {
      claim,
      candidates,
      volume: name ? this.#volumes.get(name) : undefined,
      storageClass: classes.get(storageClassOf(claim)),
      defaultClass: () => defaultClassOf(classes.list()),
      unscheduledPods: () => this.#unscheduledPods(claim),
    }
    const plan = planVolumeClaim(world)
    // Confirm with the API server before marking a claim as Lost: the informer may lag behind.
    if (plan.do !== 'lose' || !name) return plan
    return planVolumeClaim({ ...world, volume: await client.find(persistentVolumes, { name }) })
  }

  #candidates(claim: Stored<PersistentVolumeClaim>): readonly Stored<PersistentVolume>[] {
    if (claim.spec?.volumeName) return []
    const known = [...this.#volumesByClaim.keys(keyOf(claim)), ...this.#available.keys(storageClassOf(claim))]
    return known.flatMap(name => this.#volumes.get(name) ?? [])
  }

  #unscheduledPods(claim: Stored<PersistentVolumeClaim>): readonly string[] {
    return this.#podsByClaim
      .get(keyOf(claim))
      .filter(pod => !pod.spec?.nodeName && !isPodTerminated(pod))
      .map(pod => pod.metadata.name)
  }

  async #bind(
    client: Client,
    volume: Stored<PersistentVolume>,
    claim: Stored<PersistentVolumeClaim>,
  ): Promise<void> {
    const name = volume.metadata.name
    this.#binding.add(name)
    try {
      await bind(this.#provisioning(client), volume, claim)
    } finally {
      this.#binding.delete(name)
    }
  }

  async #workOnVolume(name: string, client: Client): Promise<void> {
    const found = this.#volumes.get(name)
    if (found === undefined) return
    const writing = this.#provisioning(client)
    const marked = withMigrationAnnotations(found, provisioner => this.#provisioners.has(provisioner))
    const volume = await updateVolume(writing, marked, found)
    const plan = planVolume(volume, await this.#claimOf(volume, client))
    switch (plan.do) {
      case 'phase':
        await setPhase(writing, volume, { phase: plan.phase })
        return
      case 'wake':
        this.#enqueue(keyOf(plan.claim))
        return
      case 'mismatch':
        this.#tellMismatch(volume, plan.claim)
        return
      case 'unbind':
        return unbind(writing, volume)
      case 'reclaim':
        return reclaim(writing, volume, plan.policy)
    }
  }

  /**
   * The claim with the uid that the volume references. Confirmed with the API server before it counts as
   * deleted.
   */
  async #claimOf(
    volume: PersistentVolume,
    client: Client,
  ): Promise<Stored<PersistentVolumeClaim> | undefined> {
    const { namespace = '', name = '', uid } = volume.spec?.claimRef ?? {}
    if (!uid) return undefined
    const isMeant = (claim: PersistentVolumeClaim | undefined): boolean => claim?.metadata.uid === uid
    const known = this.#claims.get(keyOf({ metadata: { namespace, name } }))
    if (isMeant(known)) return known
    const found = await client.find(persistentVolumeClaims, parseKey(`${namespace}/${name}`))
    return isMeant(found) ? found : undefined
  }

  #tellMismatch(volume: Stored<PersistentVolume>, claim: Stored<PersistentVolumeClaim>): void {
    const [volumeName, claimName] = [volume, claim].map(({ metadata }) => quote(metadata.name))
    const event = { type: 'Warning', reason: 'VolumeMismatch' } as const
    const why = 'due to incompatible volumeMode.'
    this.#recorder.record(volume, {
      ...event,
      message: `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${claimName} ${why}`,
    })
    this.#recorder.record(claim, {
      ...event,
      message: `Cannot bind PersistentVolume ${volumeName} to requested PersistentVolumeClaim ${why}`,
    })
  }

  #provisioning(client: Client): Provisioning {
    return {
      client,
      recorder: this.#recorder,
      volumes: this.#volumes,
      claims: this.#claims,
      provisioners: this.#provisioners,
      nodeOf: name => this.#informers.nodes.get(name),
    }
  }
}
