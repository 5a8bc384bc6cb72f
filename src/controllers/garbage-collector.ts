/**
 * Deletes objects after their owners are gone, and implements deletion propagation: `Background` (dependents
 * are deleted after the owner), `Foreground` (the owner is deleted last) and `Orphan` (dependents lose the
 * owner reference and stay). Watches every resource.
 * https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
import { LruMap } from '#/base/lru-map.ts'
import { isApiError } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { quote } from '#/api/text/quote.ts'
import { withoutFinalizer, type KubernetesObject, type OwnerReference, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client, ObjectKey } from '#/client/client.ts'
import type { Change } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { watchAllResources, type OnResource } from './shared/watch-all-resources.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { OwnerGraph, ownersOf, type GraphNode } from './garbage-collector/owner-graph.ts'
import {
  isBlockedByDependents,
  isDeletingDependents,
  planDependent,
  planDeletingOwner,
  type GarbageCollectionPlan,
  type OwnerState,
} from './garbage-collector/plan.ts'

export const garbageCollectorController: Controller = {
  name: 'garbage-collector-controller',
  queueName: 'garbage_collector_attempt_to_delete',
  account: 'generic-garbage-collector',
  workers: 20,
  setUp,
}

/** Size of the cache of absent owners. Entries never become wrong, since uids are not reused. */
const absentOwnersMax = 500

/** Interval for checking an owner that exists but that no informer shows yet. */
const unseenOwnerMs = 5_000

function setUp(context: ControllerContext): Reconcile {
  const collector = new GarbageCollector(context)
  return request => collector.reconcile(request)
}

class GarbageCollector {
  readonly #context: ControllerContext
  readonly #graph = new OwnerGraph()
  readonly #kinds = new Map<string, Resource>()
  readonly #absent = new LruMap<string, true>(absentOwnersMax)

  constructor(context: ControllerContext) {
    this.#context = context
    const syncErrors = context.metrics
      .counter({
        name: 'garbagecollector_controller_resources_sync_error_total',
        help: 'Failures to discover the resources of the API server.',
        stability: 'ALPHA',
      })
      .with()
    const watched = { isWanted: () => true, needsWhole: () => false, onError: () => syncErrors.add() }
    const onResource: OnResource = (resource, informer) => {
      this.#kinds.set(kindKey(resource.group, resource.kind), resource)
      informer.addEventHandler((_key, change) => {
        this.#graph.change(resource, change)
        for (const uid of affectedUids(this.#graph, change)) context.enqueue(uid)
      })
    }
    watchAllResources(context, onResource, watched)
  }

  /** The key is an object's uid. */
  async reconcile(request: ReconcileRequest): Promise<void | ReconcileResult> {
    const node = this.#graph.get(request.key)
    if (node === undefined) return undefined
    const owner = planDeletingOwner(this.#graph, node.object)
    if (owner.action !== 'nothing') return this.#perform(node, owner, request)
    const states = new Map<string, OwnerState>()
    for (const reference of ownersOf(node.object)) {
      states.set(reference.uid, await this.#stateOf(node, reference, request))
    }
    const plan = planDependent(this.#graph, node.object, ({ uid }) => states.get(uid) ?? 'solid')
    await this.#perform(node, plan, request)
    // No watch event will report the deletion of an owner that no informer has seen.
    const isUnseen = [...states].some(
      ([uid, state]) => state !== 'dangling' && this.#graph.get(uid) === undefined,
    )
    return isUnseen ? { requeueAfterMs: unseenOwnerMs } : undefined
  }

  async #stateOf(
    { resource, object }: GraphNode,
    reference: OwnerReference,
    request: ReconcileRequest,
  ): Promise<OwnerState> {
    const known = this.#graph.get(reference.uid)
    const namespace = object.metadata.namespace ?? ''
    if (known !== undefined) {
      if (!mayOwn(known, namespace)) return this.#misplaced(object, reference)
      return isDeletingDependents(known.object) ? 'waitingForDependentsDeletion' : 'solid'
    }
    if (this.#absent.get(`${namespace}/${reference.uid}`)) return 'dangling'
    const { apiVersion, kind: kindName, name, uid } = reference
    const kind = this.#kinds.get(kindKey(parseGroupVersion(apiVersion)?.group ?? '', kindName))
    // An unknown kind proves nothing: its API may be temporarily unavailable.
    if (kind === undefined)
      throw new Error(
        `cannot resolve owner ${name}: no matches for kind ${quote(kindName)} in version ${quote(apiVersion)}`,
      )
    if (kind.scope === 'Namespaced' && resource.scope === 'Cluster') return this.#misplaced(object, reference)
    const at = { name, ...(kind.scope === 'Namespaced' && { namespace }) }
    const found = await request.client.find(kind, at, { signal: request.signal })
    if (found?.metadata.uid === uid)
      return isDeletingDependents(found) ? 'waitingForDependentsDeletion' : 'solid'
    this.#absent.set(`${namespace}/${uid}`, true)
    return 'dangling'
  }

  /** An owner in another namespace counts as absent; an event reports the invalid reference. */
  #misplaced(object: KubernetesObject, { apiVersion, kind, name, uid }: OwnerReference): OwnerState {
    const where = object.metadata.namespace ?? ''
    const owner = `[${apiVersion}/${kind}, namespace: ${where}, name: ${name}, uid: ${uid}]`
    const message = `ownerRef ${owner} does not exist in namespace ${quote(where)}`
    this.#context.recorder.record(object, { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message })
    return 'dangling'
  }

  async #perform(node: GraphNode, plan: GarbageCollectionPlan, { client }: ReconcileRequest): Promise<void> {
    const { object } = node
    const uid = object.metadata.uid
    switch (plan.action) {
      case 'nothing':
        return
      case 'wait':
        for (const dependent of plan.dependents) this.#context.enqueue(dependent)
        return
      case 'orphan':
        // The informers trigger the next reconcile when the dependents have changed.
        await Promise.all(plan.dependents.map(dependent => disown(client, dependent, uid)))
        return
      case 'remove-finalizer': {
        const { finalizers = [] } = withoutFinalizer(object, plan.finalizer).metadata
        return patchMetadata(client, node, { finalizers })
      }
      case 'set-owners':
        return patchMetadata(client, node, { ownerReferences: plan.owners })
      case 'delete':
        return remove(client, node, plan.policy)
    }
  }
}

/** The uids to reconcile after a change: the object, its dependents or its owners. */
function affectedUids(
  graph: OwnerGraph,
  { oldObject, newObject }: Change<KubernetesObject>,
): readonly string[] {
  const uid = (newObject ?? oldObject)?.metadata.uid
  if (newObject === undefined) return [...graph.dependentUids(uid), ...waitingOwners(graph, oldObject)]
  if (oldObject !== undefined && !isRelevantChange(oldObject, newObject)) return []
  const concernedOwners = oldObject === undefined ? [] : waitingOwners(graph, oldObject)
  const areOwnersFine = ownersOf(newObject).every(owner => {
    const known = graph.get(owner.uid)
    return (
      known !== undefined &&
      mayOwn(known, newObject.metadata.namespace ?? '') &&
      !isDeletingDependents(known.object)
    )
  })
  const isFine =
    areOwnersFine && newObject.metadata.deletionTimestamp === undefined && oldObject === undefined
  return isFine ? [] : [uid, ...concernedOwners]
}

/** True if owner references or the deletion state changed; most changes are status updates. */
function isRelevantChange(before: KubernetesObject, after: KubernetesObject): boolean {
  if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp) return true
  if (after.metadata.deletionTimestamp !== undefined) return true
  if (before.metadata.ownerReferences === after.metadata.ownerReferences) return false
  const owners = (object: KubernetesObject): string => {
    return ownersOf(object)
      .map(owner => `${owner.uid} ${owner.blockOwnerDeletion}`)
      .join()
  }
  return owners(before) !== owners(after)
}

function waitingOwners(graph: OwnerGraph, object: KubernetesObject): readonly string[] {
  return ownersOf(object)
    .map(({ uid }) => uid)
    .filter(uid => {
      const owner = graph.get(uid)?.object
      return owner !== undefined && isBlockedByDependents(owner)
    })
}

/** An owner must be cluster-scoped or in the same namespace. */
function mayOwn({ resource, object }: GraphNode, namespace: string): boolean {
  return resource.scope === 'Cluster' || object.metadata.namespace === namespace
}

async function disown(client: Client, node: GraphNode, ownerUid: string): Promise<void> {
  const ownerReferences = ownersOf(node.object).filter(owner => owner.uid !== ownerUid)
  await patchMetadata(client, node, { ownerReferences })
}

/**
 * Patches with uid and resourceVersion preconditions: a conflict means that a newer version must be examined.
 */
async function patchMetadata(client: Client, { resource, object }: GraphNode, change: object): Promise<void> {
  const { uid, resourceVersion } = object.metadata
  const patch = { metadata: { uid, resourceVersion, ...change } }
  try {
    await client.patch(resource, addressOf(object), { type: 'merge', patch })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

async function remove(
  client: Client,
  { resource, object }: GraphNode,
  propagationPolicy: 'Orphan' | 'Background' | 'Foreground',
): Promise<void> {
  const { uid, resourceVersion } = object.metadata
  try {
    const preconditions = { uid, resourceVersion }
    await client.delete(resource, addressOf(object), { propagationPolicy, preconditions })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

function addressOf({ metadata }: Stored): ObjectKey {
  return { name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) }
}

function kindKey(group: string, kind: string): string {
  return `${kind}.${group}`
}
