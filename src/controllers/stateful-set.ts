/**
 * StatefulSets maintain pods with a stable identity: each has its own name and claims, which a recreated pod
 * gets back. Pods are created in order and deleted in reverse order, unless the set is Parallel.
 * https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
 */
import { StatefulSetMetrics } from './stateful-set/stateful-set-metrics.ts'
import type { ControllerRevision, StatefulSet } from '#/api/generated/apps/v1.ts'
import { statefulSets } from '#/api/generated/apps/v1-resources.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim, Pod, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { controllerOf, formatKey, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { claimObjects } from './shared/controller-ref.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { enqueueForOwner, orphanIndex, controllerRefIndex } from './shared/controller-ref-index.ts'
import { nextAvailableMs } from './pods.ts'
import { templateOfRevision } from './shared/revision-data.ts'
import { deleteRevisions, recordRevision, revisionHistory } from './shared/revision-history.ts'
import { slowStartBatch } from './shared/slow-start-batch.ts'
import { parsePodName, newStatefulSetPod, ordinalOf, revisionOf } from './stateful-set/identity.ts'
import { planStatefulSet, type ReplicaAction, type StatefulSetPlan } from './stateful-set/plan.ts'
import { planStatus } from './stateful-set/status.ts'
import { createPod, deletePod, updatePod, writeClaims, type Writing } from './stateful-set/write.ts'

export const statefulSetController: Controller = {
  name: 'statefulset-controller',
  queueName: 'statefulset',
  account: 'statefulset-controller',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const { platform, recorder, informer, enqueue } = context
  const sets = informer(statefulSets)
  const allPods = informer(pods)
  const allClaims = informer(persistentVolumeClaims)
  const owned = controllerRefIndex(allPods)
  const orphans = orphanIndex(allPods)
  const history = revisionHistory(context, statefulSets, sets)
  const measured = new StatefulSetMetrics(context.metrics)
  sets.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject === undefined) measured.forget(oldObject)
    enqueue(key)
  })
  enqueueForOwner(allPods, statefulSets, key => enqueue(key))
  enqueueByName({ sets, allPods, allClaims, enqueue })

  return async ({ key, client, signal }) => {
    const set = sets.get(key)
    if (set === undefined) return undefined
    const { uid, namespace = '' } = set.metadata
    const revisions = await history.claimRevisions(set, client)
    const versions = await versionsOf(set, revisions, client)
    // Pods are claimed last, so that decisions are not based on state that is outdated by earlier writes.
    const claimed = await claimObjects({
      client,
      owner: set,
      ownerResource: statefulSets,
      resource: pods,
      selector: compileLabelSelector(set.spec?.selector),
      candidates: [...owned.get(uid), ...orphans.get(namespace)],
      isAdoptable: pod => ordinalOf(set, pod) !== undefined,
    })
    const nowMs = platform.clock.now()
    const world = { set, pods: claimed, nowMs, ...versions }
    const claimOf = (name: string): PersistentVolumeClaim | undefined => {
      return allClaims.get(formatKey({ namespace, name }))
    }
    const plan = isBeingDeleted(set) ? nothing : planStatefulSet({ ...world, claimOf })
    const failure = await perform(plan, versions, { set, client, recorder })
    const status = planStatus(world)
    measured.synced(set, status)
    if (status !== set.status) await client.updateStatus(statefulSets, { ...set, status }, { signal })
    if (!isBeingDeleted(set)) await truncate(revisions, world, client)
    if (failure) throw failure.error
    const requeueAfterMs = nextAvailableMs(claimed, set.spec?.minReadySeconds ?? 0, nowMs)
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
  }
}

const nothing: StatefulSetPlan = { actions: [], claims: [], delete: [] }

/**
 * Enqueues sets by name, since ownership is not sufficient here: an orphan, or a foreign pod that blocks a
 * name, can only belong to the set that its name starts with, and a pod may be waiting for the deletion of a
 * claim.
 */
function enqueueByName(world: {
  readonly sets: Informer<StatefulSet>
  readonly allPods: Informer<Pod>
  readonly allClaims: Informer<PersistentVolumeClaim>
  readonly enqueue: ControllerContext['enqueue']
}): void {
  const { sets, allPods, allClaims, enqueue } = world
  allPods.addEventHandler((_key, { oldObject, newObject }) => {
    const pod = newObject ?? oldObject
    if (pod === undefined || (newObject !== undefined && controllerOf(newObject) !== undefined)) return
    const parent = parsePodName(pod.metadata.name)?.parent
    if (parent === undefined) return
    const key = formatKey({ namespace: pod.metadata.namespace ?? '', name: parent })
    if (sets.get(key) !== undefined) enqueue(key)
  })
  allClaims.addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject === undefined || newObject !== undefined) return
    const { name, namespace = '' } = oldObject.metadata
    const owner = parsePodName(name)?.parent ?? ''
    // Names of claim templates and of sets may contain dashes, so every suffix may be the set's name.
    for (let dash = owner.indexOf('-'); dash !== -1; dash = owner.indexOf('-', dash + 1)) {
      const key = formatKey({ namespace, name: owner.slice(dash + 1) })
      if (sets.get(key) !== undefined) enqueue(key)
    }
  })
}

/** The current and the update revision of the set. */
interface Versions {
  readonly currentRevision: string
  readonly updateRevision: string
  readonly templates: { readonly current: PodTemplateSpec; readonly update: PodTemplateSpec }
  readonly collisionCount: number
}

/** Label of revisions that contains the hash. */
const hashLabel = 'controller.kubernetes.io/hash'

async function versionsOf(
  set: Stored<StatefulSet>,
  revisions: readonly Stored<ControllerRevision>[],
  client: Client,
): Promise<Versions> {
  const { currentRevision = '', updateRevision = '', collisionCount = 0 } = set.status ?? {}
  const template = set.spec?.template ?? {}
  // A set being deleted needs no revisions, and they may be deleted already.
  if (isBeingDeleted(set)) {
    const templates = { current: template, update: template }
    return { currentRevision, updateRevision, templates, collisionCount }
  }
  const recorded = await recordRevision({ set, revisions, hashLabel, client })
  const update = recorded.revision
  const current = revisions.find(({ metadata }) => metadata.name === currentRevision) ?? update
  return {
    currentRevision: current.metadata.name,
    updateRevision: update.metadata.name,
    templates: { current: templateOfRevision(current) ?? template, update: template },
    collisionCount: recorded.collisionCount,
  }
}

/** Performs the plan until the first failure, which is returned. */
async function perform(
  plan: StatefulSetPlan,
  versions: Versions,
  writing: Writing,
): Promise<{ readonly error: unknown } | undefined> {
  const inTurn = async <T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
    if (writing.set.spec?.podManagementPolicy !== 'Parallel') {
      for (const item of items) await act(item)
      return
    }
    const { error } = await slowStartBatch(items.length, index => act(items[index]!))
    if (error !== undefined) throw error
  }
  try {
    await inTurn(plan.actions, action => performOn(action, versions, writing))
    await inTurn(plan.claims, claims => writeClaims(writing, undefined, claims))
    await inTurn(plan.delete, pod => deletePod(writing, pod))
  } catch (error) {
    return { error }
  }
  return undefined
}

async function performOn(action: ReplicaAction, versions: Versions, writing: Writing): Promise<void> {
  if (action.do === 'delete') return deletePod(writing, action.pod)
  if (action.do === 'repair') {
    const { pod, isChanged, claims } = action
    return isChanged ? updatePod(writing, pod, claims) : writeClaims(writing, pod, claims)
  }
  const { ordinal, claims } = action
  const revision = action.revision === 'current' ? versions.currentRevision : versions.updateRevision
  const template = versions.templates[action.revision]
  return createPod(writing, newStatefulSetPod(writing.set, { ordinal, template, revision }), claims)
}

/** Deletes unused revisions beyond `revisionHistoryLimit`. */
async function truncate(
  revisions: readonly Stored<ControllerRevision>[],
  world: Versions & { readonly set: StatefulSet; readonly pods: readonly Pod[] },
  client: Client,
): Promise<void> {
  const { set, pods: ownPods, currentRevision, updateRevision } = world
  const limit = set.spec?.revisionHistoryLimit ?? 10
  const live = new Set([currentRevision, updateRevision, ...ownPods.map(revisionOf)])
  const past = revisions.filter(({ metadata }) => !live.has(metadata.name))
  // A negative limit means no limit.
  if (limit >= 0) await deleteRevisions(client, past.slice(0, Math.max(0, past.length - limit)))
}
