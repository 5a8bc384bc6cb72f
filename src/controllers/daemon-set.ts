/**
 * DaemonSets keep one pod on every eligible node. This controller decides which nodes are eligible, by the
 * scheduler's rules; the scheduler binds each pod to the node that its affinity names.
 * https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
 */
import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { ControllerRevision, DaemonSet } from '#/api/generated/apps/v1.ts'
import { daemonSets } from '#/api/generated/apps/v1-resources.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, keyOf, type Stored } from '#/api/metadata.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import { claimObjects } from './shared/controller-ref.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { daemonPod, hashLabel } from './daemon-set/daemon-pod.ts'
import { nodeShouldRunDaemonPod } from './daemon-set/eligibility.ts'
import { planDaemons, planStatus, type DaemonPlan } from './daemon-set/plan.ts'
import { daemonNodesOf } from './daemon-set/world.ts'
import { onOrphan, enqueueForOwner, orphanIndex, controllerRefIndex } from './shared/controller-ref-index.ts'
import { nextAvailableMs } from './pods.ts'
import { deleteRevisions, recordRevision, revisionHistory } from './shared/revision-history.ts'
import { slowStartBatch } from './shared/slow-start-batch.ts'
import { backoffMs } from '#/base/backoff.ts'
import { messageOf } from '#/base/message-of.ts'

export const daemonSetController: Controller = {
  name: 'daemonset-controller',
  queueName: 'daemonset',
  account: 'daemon-set-controller',
  component: 'daemonset-controller',
  workers: 2,
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const { platform, recorder, informer, enqueue } = context
  const sets = informer(daemonSets)
  const allNodes = informer(nodes)
  const allPods = informer(pods)
  const owned = controllerRefIndex(allPods)
  const orphans = orphanIndex(allPods)
  const history = revisionHistory(context, daemonSets, sets)
  const failedPods = new FailedPodsBackoff()
  sets.addEventHandler(key => enqueue(key))
  enqueueForOwner(allPods, daemonSets, key => enqueue(key))
  onOrphan(allPods, orphan => {
    for (const set of sets.inNamespace(orphan.metadata.namespace ?? '')) {
      if (compileLabelSelector(set.spec?.selector).matches(orphan.metadata.labels)) enqueue(keyOf(set))
    }
  })
  enqueueOnNodeChange(allNodes, sets, enqueue)

  return async ({ key, client, signal }) => {
    const set = sets.get(key)
    // A DaemonSet being deleted may have lost its revisions already, without which the status cannot be
    // computed.
    if (set === undefined || isBeingDeleted(set)) return undefined
    const { uid, namespace = '', generation } = set.metadata
    const revisions = await history.claimRevisions(set, client)
    const claimed = await claimObjects({
      client,
      owner: set,
      ownerResource: daemonSets,
      resource: pods,
      selector: compileLabelSelector(set.spec?.selector),
      candidates: [...owned.get(uid), ...orphans.get(namespace)],
    })
    const recorded = await recordRevision({ set, revisions, hashLabel, client })
    const hash = hashOf(recorded.revision)
    if (recorded.duplicates.length > 0) {
      await mergeDuplicates(recorded.duplicates, { pods: claimed, hash, client })
      return { requeueAfterMs: 0 }
    }
    const nowMs = platform.clock.now()
    const world = { set, hash, daemonNodes: daemonNodesOf(set, allNodes.list(), claimed), nowMs }
    const failedKey = (nodeName: string): string => `${uid}/${generation}/${nodeName}`
    const monotonicMs = platform.clock.monotonicMs()
    const backoffMsOn = (nodeName: string): number => failedPods.remainingMs(failedKey(nodeName), monotonicMs)
    const plan = planDaemons({ ...world, backoffMsOn })
    for (const { pod, nodeName } of plan.finished) {
      if (pod.status?.phase === 'Failed') failedPods.next(failedKey(nodeName), monotonicMs)
    }
    const failure = await perform(plan, { set, hash, client, recorder })
    const status = planStatus({ ...world, collisionCount: recorded.collisionCount })
    if (status !== set.status) await client.updateStatus(daemonSets, { ...set, status }, { signal })
    if (failure) throw failure.error
    await truncate(revisions, { set, pods: claimed, current: recorded.revision, client })
    return soonest(plan.requeueAfterMs, nextAvailableMs(claimed, set.spec?.minReadySeconds ?? 0, nowMs))
  }
}

function soonest(...waits: readonly (number | undefined)[]): { readonly requeueAfterMs: number } | undefined {
  const known = waits.filter(each => each !== undefined)
  return known.length === 0 ? undefined : { requeueAfterMs: Math.min(...known) }
}

/** Node status changes frequently; only changes of a node's eligibility enqueue a DaemonSet. */
function enqueueOnNodeChange(
  allNodes: Informer<Node>,
  sets: Informer<DaemonSet>,
  enqueue: ControllerContext['enqueue'],
): void {
  allNodes.addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject && newObject && isAlike(oldObject, newObject)) return
    for (const set of sets.list()) {
      const eligibilityOf = nodeShouldRunDaemonPod(set)
      const then = oldObject && eligibilityOf(oldObject)
      const now = newObject && eligibilityOf(newObject)
      const isSame =
        (then?.shouldRun ?? false) === (now?.shouldRun ?? false) &&
        (then?.shouldContinueRunning ?? false) === (now?.shouldContinueRunning ?? false)
      if (!isSame) enqueue(keyOf(set))
    }
  })
}

function isAlike(oldObject: Node, newObject: Node): boolean {
  return (
    equalJson(oldObject.metadata.labels, newObject.metadata.labels) &&
    equalJson(oldObject.spec?.taints, newObject.spec?.taints)
  )
}

/** Revisions not created by this controller may lack the label. */
function hashOf({ metadata }: Stored<ControllerRevision>): string {
  return metadata.labels?.[hashLabel] ?? metadata.name
}

/** Deletes duplicate revisions and relabels their pods with the remaining revision's hash. */
async function mergeDuplicates(
  duplicates: readonly Stored<ControllerRevision>[],
  world: { readonly pods: readonly Stored<Pod>[]; readonly hash: string; readonly client: Client },
): Promise<void> {
  const { hash, client } = world
  const hashes = new Set(duplicates.map(hashOf))
  for (const { metadata } of world.pods) {
    const { namespace, name, labels } = metadata
    if (!hashes.has(labels?.[hashLabel] ?? '')) continue
    const patch = { metadata: { labels: { [hashLabel]: hash } } }
    try {
      await client.patch(pods, { namespace, name }, { type: 'merge', patch })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
  await deleteRevisions(client, duplicates)
}

interface Performance {
  readonly set: Stored<DaemonSet>
  readonly hash: string
  readonly client: Client
  readonly recorder: EventRecorder
}

/** Performs the whole plan and returns the first failure. */
async function perform(
  plan: DaemonPlan,
  performance: Performance,
): Promise<{ readonly error: unknown } | undefined> {
  const { set, recorder } = performance
  for (const { pod, nodeName } of plan.finished) {
    const isFailed = pod.status?.phase === 'Failed'
    const what = isFailed ? 'failed daemon pod' : 'succeeded daemon pod'
    recorder.record(set, {
      type: isFailed ? 'Warning' : 'Normal',
      reason: isFailed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
      message: `Found ${what} ${keyOf(pod)} on node ${nodeName}, will try to ${isFailed ? 'kill' : 'delete'} it`,
    })
  }
  const created = await slowStartBatch(plan.create.length, index => create(plan.create[index]!, performance))
  const deleted = await Promise.allSettled(plan.delete.map(pod => remove(pod, performance)))
  if (created.error !== undefined) return { error: created.error }
  const failed = deleted.find(result => result.status === 'rejected')
  return failed && { error: failed.reason }
}

async function create(nodeName: string, { set, hash, client, recorder }: Performance): Promise<void> {
  try {
    const { metadata } = await client.create(pods, daemonPod(set, nodeName, hash))
    const message = `Created pod: ${metadata.name}`
    recorder.record(set, { type: 'Normal', reason: 'SuccessfulCreate', message })
  } catch (error) {
    const message = `Error creating: ${messageOf(error)}`
    if (!isNamespaceTerminating(error))
      recorder.record(set, { type: 'Warning', reason: 'FailedCreate', message })
    throw error
  }
}

async function remove({ metadata }: Stored<Pod>, { set, client, recorder }: Performance): Promise<void> {
  const { namespace, name, uid } = metadata
  try {
    await client.delete(pods, { namespace, name }, { preconditions: { uid } })
    recorder.record(set, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${name}` })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    const message = `Error deleting: ${messageOf(error)}`
    recorder.record(set, { type: 'Warning', reason: 'FailedDelete', message })
    throw error
  }
}

/** Deletes revisions beyond `revisionHistoryLimit`, except those that pods still have. */
async function truncate(
  revisions: readonly Stored<ControllerRevision>[],
  world: {
    readonly set: DaemonSet
    readonly pods: readonly Pod[]
    readonly current: ControllerRevision
    readonly client: Client
  },
): Promise<void> {
  const old = revisions.filter(({ metadata }) => metadata.uid !== world.current.metadata.uid)
  const surplus = old.length - (world.set.spec?.revisionHistoryLimit ?? 10)
  if (surplus <= 0) return
  const live = new Set(world.pods.map(({ metadata }) => metadata.labels?.[hashLabel]))
  const dead = old.filter(revision => !live.has(hashOf(revision)))
  await deleteRevisions(world.client, dead.slice(0, surplus))
}

/**
 * Backoff for replacing failed pods: a kubelet that rejects a pod would reject its replacements as fast as
 * they are created. Kept in memory only; after a restart the backoff starts over.
 */
class FailedPodsBackoff {
  /** In order of last replacement, oldest first. */
  readonly #replaced = new Map<string, Replaced>()

  /** Time until the next failed pod may be replaced; zero if now. */
  remainingMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#replaced.get(key)?.untilMs ?? 0) - nowMs)
  }

  next(key: string, nowMs: number): void {
    for (const [old, { atMs }] of this.#replaced) {
      if (nowMs - atMs <= forgetMs) break
      this.#replaced.delete(old)
    }
    const times = (this.#replaced.get(key)?.times ?? 0) + 1
    this.#replaced.delete(key)
    this.#replaced.set(key, { times, atMs: nowMs, untilMs: nowMs + backoffMs(times, replacementBackoff, 0) })
  }
}

interface Replaced {
  readonly times: number
  readonly atMs: number
  readonly untilMs: number
}

const replacementBackoff = { initialMs: 1_000, maxMs: 15 * 60_000, factor: 2, jitter: 0 }

/** Entries older than this are dropped. */
const forgetMs = 2 * replacementBackoff.maxMs
