/**
 * The scheduler. Informers feed the queue and the cache; the scheduling loop takes one pod at a time, finds
 * the best node in a snapshot, assumes the pod there and continues with the next pod, while the binding cycle
 * runs asynchronously. A pod with a failed binding is requeued.
 */
import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import type { NodeCondition, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { isBeingDeleted, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import type { Platform } from '#/platform/platform.ts'
import { ClusterCache } from './cluster-cache.ts'
import type { CycleId, PluginContext, QueuedPod, Refusal, Room } from './framework.ts'
import { Nominations } from './nominations.ts'
import {
  chooseNode,
  filterNodes,
  filterNominated,
  prepareFilters,
  type Filtered,
  type PlaceWorld,
} from './place-pod.ts'
import { podInfoOf, type PodInfo } from './pod-info.ts'
import type { MakeProfiles, Profile } from './profile.ts'
import { SchedulingQueue } from './queue.ts'
import { noneAvailable } from './reasons.ts'
import { bindPod } from './scheduler/bind-pod.ts'
import { Decisions, type PodDecision } from './scheduler/decisions.ts'
import { failureMessage } from './scheduler/failure-message.ts'
import { reportFailure, type FailureReport } from './scheduler/report-failure.ts'
import { wakeUpsOf, type WakeUps } from './scheduler/wake-ups.ts'

export type { PodDecision } from './scheduler/decisions.ts'

export interface SchedulerOptions {
  readonly platform: Platform
  /** Authenticated as `system:kube-scheduler`. */
  readonly client: Client
  readonly profiles: MakeProfiles
  readonly backoffMs?: { readonly first: number; readonly max: number }
}

/** Milliseconds of scheduling after which the loop yields to the event loop. */
const turnMs = 5

export class Scheduler {
  readonly informers: Informers
  readonly #options: SchedulerOptions
  readonly #cache = new ClusterCache()
  readonly #nominations = new Nominations()
  readonly #decisions = new Decisions()
  readonly #profiles: ReadonlyMap<string, Profile>
  readonly #recorders = new Map<string, EventRecorder>()
  readonly #queue: SchedulingQueue
  readonly #wakeUps: WakeUps
  /** Binding cycles and preemptions in progress. */
  readonly #underWay = new Set<Promise<void>>()
  /** Uids of pods with a preemption in progress, which are gated until it is done. */
  readonly #makingRoom = new Set<string>()
  /** Resources with an event handler already registered. */
  readonly #heard = new Set<string>()
  #nextNode = 0

  constructor(options: SchedulerOptions) {
    const { platform, client } = options
    this.#options = options
    this.informers = new Informers({ platform, client })
    const context: PluginContext = {
      platform,
      client,
      informer: resource => this.#informer(resource),
      snapshot: () => this.#cache.snapshot(),
      reconsider: key => this.#queue.reconsider(key),
    }
    const profiles = options.profiles(context)
    this.#profiles = new Map(profiles.map(profile => [profile.schedulerName, profile]))
    for (const { schedulerName } of profiles) {
      this.#recorders.set(schedulerName, new EventRecorder({ platform, client, component: schedulerName }))
    }
    this.#wakeUps = wakeUpsOf(profiles, pod => this.#profileOf(pod))
    this.#queue = new SchedulingQueue({
      clock: platform.clock,
      compare: profiles[0]!.compare,
      preEnqueue: pod => this.#whyHeldBack(pod),
      ...(options.backoffMs && { backoffMs: options.backoffMs }),
    })
    this.#listen()
  }

  /** True if no pod can be scheduled now and no binding or preemption is in progress. */
  get isIdle(): boolean {
    return this.#queue.isIdle && this.#underWay.size === 0
  }

  get busyKeys(): readonly string[] {
    return this.#queue.busyKeys
  }

  /** The last scheduling decision for a pod, if still cached. */
  decisionOn(key: string): PodDecision | undefined {
    return this.#decisions.get(key)
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = [
      this.informers.run(signal),
      ...[...this.#recorders.values()].map(recorder => recorder.run(signal)),
    ]
    try {
      await this.informers.waitForSync(signal)
    } catch {
      return void (await Promise.all(running))
    }
    signal.addEventListener('abort', () => this.#queue.close(), { once: true })
    if (signal.aborted) this.#queue.close()
    await this.#placeAll(signal)
    await Promise.all([...running, ...this.#underWay])
  }

  async #placeAll(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    let turnedMs = clock.monotonicMs()
    for (let queued = await this.#queue.take(); queued !== undefined; queued = await this.#queue.take()) {
      try {
        await this.#place(queued, signal)
      } catch (error) {
        if (signal.aborted) return
        log.error('a pod could not be placed', { pod: queued.key, error })
        this.#failed(queued, error, signal)
      }
      if (clock.monotonicMs() - turnedMs < turnMs) continue
      await clock.turn()
      turnedMs = clock.monotonicMs()
    }
  }

  /** Requeues the pod after an error, such as a failed extender, which a retry may not have. */
  #failed({ key, pod }: QueuedPod, error: unknown, signal: AbortSignal): void {
    this.#queue.refused(key, new Set())
    const profile = this.#profileOf(pod)
    const info = podInfoOf(pod)
    if (profile === undefined || !this.#isStillWaiting(info)) return
    const message = messageOf(error)
    this.#report(info, profile, { reason: 'SchedulerError', message, nominated: '' }, signal)
  }

  async #place(queued: QueuedPod, signal: AbortSignal): Promise<void> {
    const { key, pod } = queued
    const profile = this.#profileOf(pod)
    const now = this.informers.of(pods).get(key)
    if (profile === undefined || now === undefined || !isWaiting(now)) return this.#queue.delete(key)
    const info = podInfoOf(now)
    const cycle: CycleId = {}
    const world: PlaceWorld = {
      pod: info,
      profile,
      cycle,
      snapshot: this.#cache.snapshot(),
      nominated: node => this.#nominations.on(node),
      nominatedNode: this.#nominations.nodeOf(info.uid),
      startAt: this.#nextNode,
      random: this.#options.platform.random,
    }
    const feasible = await this.#filter(world)
    if (feasible.feasible.length === 0) return this.#fail(info, profile, feasible, signal)
    const chosen = await profile.extend.choose(info, feasible, () => chooseNode(world, feasible.feasible))
    this.#decisions.placed(info, feasible, chosen, this.#options.platform.clock.now())
    this.#reserveAndBind(info, profile, { node: chosen.node, cycle, signal })
  }

  /** The nominated node is likely to fit, so the other nodes are examined only if it does not. */
  async #filter(world: PlaceWorld): Promise<Filtered> {
    const { pod, profile } = world
    const prepared = prepareFilters(world)
    const awaited = filterNominated(world, prepared)
    if (awaited !== undefined) {
      const passed = await profile.extend.filter(pod, awaited)
      if (passed.feasible.length > 0) return passed
    }
    const filtered = filterNodes(world, prepared)
    this.#nextNode = (this.#nextNode + filtered.looked) % Math.max(1, world.snapshot.nodes.length)
    return profile.extend.filter(pod, filtered)
  }

  /** Assumes the pod on the node; the binding cycle runs concurrently with the next scheduling cycles. */
  #reserveAndBind(
    info: PodInfo,
    profile: Profile,
    { node, cycle, signal }: { readonly node: string; readonly cycle: CycleId; readonly signal: AbortSignal },
  ): void {
    this.#cache.assume(info, node)
    if (this.#nominations.nodeOf(info.uid) === node) this.#nominations.delete(info.uid)
    else this.#nominate(info, undefined)
    const { client, platform } = this.#options
    const binding = bindPod(info, node, { profile, client, cycle, signal, clock: platform.clock }).then(
      refusal => {
        if (refusal === undefined) {
          this.#queue.delete(info.key)
          const message = `Successfully assigned ${info.key} to ${node}`
          this.#recorderOf(profile).record(info.pod, { type: 'Normal', reason: 'Scheduled', message })
          return
        }
        this.#undo(info, node)
        if (this.#isReplaced(info)) return
        this.#queue.refused(info.key, new Set(refusal.plugin === undefined ? [] : [refusal.plugin]))
        const message = noneAvailable(1, new Map([[node, refusal]]))
        this.#report(info, profile, { reason: 'Unschedulable', message, nominated: '' }, signal)
      },
      (error: unknown) => {
        this.#undo(info, node)
        if (this.#isReplaced(info)) return
        if (isApiError(error, 'NotFound') || signal.aborted) return this.#queue.delete(info.key)
        this.#queue.refused(info.key, new Set())
        platform.log.warn('a pod could not be bound and is tried again', { pod: info.key, node, error })
        const message = messageOf(error)
        this.#report(info, profile, { reason: 'SchedulerError', message, nominated: '' }, signal)
      },
    )
    this.#follow(binding)
  }

  #follow(work: Promise<void>): void {
    this.#underWay.add(work)
    void work.finally(() => this.#underWay.delete(work))
  }

  /** Forgets the assumed pod, which may make other pods schedulable. */
  #undo({ pod, uid }: PodInfo, node: string): void {
    this.#cache.forget(uid)
    if (!this.#queue.cares) return
    const { mayHelp } = this.#wakeUps.eventOf(pods, 'delete', { before: placedOn(pod, node) })
    this.#queue.happened({
      mayHelp: (other, plugins) => other.metadata?.uid !== uid && mayHelp(other, plugins),
    })
  }

  async #fail(info: PodInfo, profile: Profile, filtered: Filtered, signal: AbortSignal): Promise<void> {
    const room = filtered.snapshot.nodes.length > 0 ? await profile.makeRoom(info, filtered) : undefined
    // postFilter is asynchronous: no victims are evicted for a pod that is gone.
    if (!this.#isStillWaiting(info)) return
    let message = failureMessage(filtered)
    let nominated: string | undefined
    if (room === undefined) {
      nominated = ''
    } else if ('node' in room) {
      nominated = room.node
      if (room.prepare !== undefined) this.#prepareRoom(info, profile, room.prepare, signal)
    } else {
      message = `${message} ${room.message}`
      if (room.dropsNomination) nominated = ''
    }
    if (nominated !== undefined) this.#nominate(info, nominated || undefined)
    this.#decisions.failed(info, filtered, message, this.#options.platform.clock.now())
    const refusedBy = [...filtered.refusals.values()].map(({ plugin = '' }) => plugin)
    const plugins = new Set([...refusedBy, ...(filtered.narrowedBy ?? [])])
    this.#queue.refused(info.key, plugins.size === 0 ? noNodes : plugins)
    this.#report(info, profile, { reason: 'Unschedulable', message, nominated }, signal)
  }

  /** The victims are evicted asynchronously; the pod is gated until all evictions are requested. */
  #prepareRoom(
    info: PodInfo,
    profile: Profile,
    prepare: NonNullable<Extract<Room, { node: string }>['prepare']>,
    signal: AbortSignal,
  ): void {
    const { client, platform } = this.#options
    const recorder = this.#recorderOf(profile)
    this.#makingRoom.add(info.uid)
    const preparing = prepare({ client, signal, record: (about, event) => recorder.record(about, event) })
    const prepared = preparing.then(
      () => {
        this.#makingRoom.delete(info.uid)
        this.#queue.reconsider(info.key)
      },
      (error: unknown) => {
        this.#makingRoom.delete(info.uid)
        if (signal.aborted) return
        platform.log.warn('no room could be made for a pod, which is tried again', { pod: info.key, error })
        this.#queue.activate(info.key)
      },
    )
    this.#follow(prepared)
  }

  /** Sets or clears the nominated node of the pod; clearing it may make other pods schedulable. */
  #nominate(info: PodInfo, node: string | undefined): void {
    const before = this.#nominations.nodeOf(info.uid)
    if (node === undefined) this.#nominations.delete(info.uid)
    else this.#nominations.set(info, node)
    if (before === undefined || before === node || !this.#queue.cares) return
    const { mayHelp } = this.#wakeUps.eventOf(pods, 'delete', { before: info.pod })
    this.#queue.happened({
      // Only pods of lower or equal priority were blocked by the nomination.
      mayHelp: (pod, plugins) => podInfoOf(pod).priority <= info.priority && mayHelp(pod, plugins),
    })
  }

  /** Records an event and updates the PodScheduled condition, without waiting for it. */
  #report(
    info: PodInfo,
    profile: Profile,
    failure: Pick<FailureReport, 'reason' | 'message' | 'nominated'>,
    signal: AbortSignal,
  ): void {
    const message = shortened(failure.message)
    this.#recorderOf(profile).record(info.pod, { type: 'Warning', reason: 'FailedScheduling', message })
    const { client, platform } = this.#options
    const told = reportFailure(info.pod, { client, signal, ...failure, nowMs: platform.clock.now() })
    void told.catch((error: unknown) => {
      if (!signal.aborted)
        platform.log.info('why a pod is not placed could not be written', { pod: info.key, error })
    })
  }

  /** True if the same pod, by uid, still exists and is pending. */
  #isStillWaiting({ key, uid }: PodInfo): boolean {
    const now = this.informers.of(pods).get(key)
    return now !== undefined && now.metadata?.uid === uid && isWaiting(now)
  }

  /** True if another pod of that name exists by now, which must not be affected by the result of this one. */
  #isReplaced({ key, uid }: PodInfo): boolean {
    const now = this.informers.of(pods).get(key)
    return now !== undefined && now.metadata?.uid !== uid
  }

  #whyHeldBack(pod: Pod): Refusal | undefined {
    const isMakingRoom = this.#makingRoom.has(pod.metadata?.uid ?? '')
    return isMakingRoom ? roomIsBeingMade : this.#profileOf(pod)?.preEnqueue(pod)
  }

  #recorderOf({ schedulerName }: Profile): EventRecorder {
    return this.#recorders.get(schedulerName)!
  }

  #profileOf({ spec }: Pod): Profile | undefined {
    return this.#profiles.get(spec?.schedulerName || 'default-scheduler')
  }

  /** An informer with events that may requeue unschedulable pods. */
  #informer<T extends KubernetesObject>(resource: Resource<T>): Informer<T> {
    const informer = this.informers.of(resource)
    const name = `${apiVersionOf(resource)}/${resource.plural}`
    const isOwn = resource.group === '' && (resource.plural === 'pods' || resource.plural === 'nodes')
    if (isOwn || this.#heard.has(name)) return informer
    this.#heard.add(name)
    informer.addEventHandler((_key, { oldObject, newObject }) => {
      const type = oldObject === undefined ? 'add' : newObject === undefined ? 'delete' : 'update'
      const change = { ...(oldObject && { before: oldObject }), ...(newObject && { after: newObject }) }
      if (this.#queue.cares) this.#queue.happened(this.#wakeUps.eventOf(resource, type, change))
    })
    return informer
  }

  #listen(): void {
    this.informers.of(nodes).addEventHandler((name, { oldObject, newObject }) => {
      if (newObject === undefined) this.#cache.removeNode(name)
      else if (oldObject === undefined || mattersToPods(oldObject, newObject)) this.#cache.setNode(newObject)
      else return
      const type = oldObject === undefined ? 'add' : newObject === undefined ? 'delete' : 'update'
      const change = { ...(oldObject && { before: oldObject }), ...(newObject && { after: newObject }) }
      if (this.#queue.cares) this.#queue.happened(this.#wakeUps.eventOf(nodes, type, change))
    })
    this.informers
      .of(pods)
      .addEventHandler((key, { oldObject, newObject }) => this.#podChanged(key, oldObject, newObject))
  }

  #podChanged(key: string, before: Pod | undefined, after: Pod | undefined): void {
    const uid = (after ?? before)?.metadata?.uid ?? ''
    const now = after !== undefined && isWaiting(after) ? after : undefined
    if (now === undefined) {
      this.#queue.delete(key)
      if (this.#nominations.nodeOf(uid) !== undefined)
        this.#nominate(podInfoOf((before ?? after)!), undefined)
    }
    const place = after === undefined ? this.#cache.nodeOf(uid) : undefined
    if (after === undefined) {
      this.#decisions.delete(key)
      this.#cache.removePod(before!)
    } else if (after.spec?.nodeName) this.#cache.setPod(after)
    else if (now !== undefined && this.#profileOf(now) !== undefined && !this.#cache.isAssumed(uid)) {
      const isNominationLost = this.#nominationTold(before, now)
      this.#queue.set(now, before === undefined || isNominationLost || isChanged(before, now))
    }
    if (this.#queue.cares) this.#podHappened(before, after, place)
  }

  /**
   * Only pods on nodes affect unschedulable pods. A terminated pod, or an assumed one that was deleted,
   * counts as removed.
   */
  #podHappened(before: Pod | undefined, after: Pod | undefined, place: string | undefined): void {
    const wasPlaced = before !== undefined && isPlaced(before)
    const isThere = after !== undefined && isPlaced(after)
    if (!wasPlaced && !isThere && place === undefined) return
    if (isThere) {
      const change = { ...(wasPlaced && { before }), after }
      return this.#queue.happened(this.#wakeUps.eventOf(pods, wasPlaced ? 'update' : 'add', change))
    }
    const gone = wasPlaced ? before : placedOn(before!, place ?? '')
    this.#queue.happened(this.#wakeUps.eventOf(pods, 'delete', { before: gone }))
  }

  /** Takes the nominated node from the pod status. Returns true if the pod has lost its nomination. */
  #nominationTold(before: Pod | undefined, after: Pod): boolean {
    const held = this.#nominations.nodeOf(after.metadata?.uid ?? '')
    const said = after.status?.nominatedNodeName
    const wasSaid = before?.status?.nominatedNodeName
    // An own nomination not yet in the status stays valid until the status is changed.
    const node = said || (wasSaid ? undefined : held)
    if (node !== undefined || held !== undefined) this.#nominate(podInfoOf(after), node)
    return Boolean(wasSaid) && !said
  }
}

/** Placeholder for a pod without any refusing plugin: every event may help. */
const noNodes: ReadonlySet<string> = new Set(['no nodes'])

/** Maximum length of an event message in the API. */
const eventCharactersMax = 1_024

function shortened(message: string): string {
  return message.length <= eventCharactersMax ? message : `${message.slice(0, eventCharactersMax - 4)} ...`
}

const roomIsBeingMade: Refusal = { reason: 'waiting for the preemption for this pod to be finished' }

/** True for a pod on a node that has not terminated. */
function isPlaced({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

function placedOn(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName } }
}

function isWaiting(pod: Pod): boolean {
  const { spec, status } = pod
  return (
    !spec?.nodeName && status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && !isBeingDeleted(pod)
  )
}

/** Status updates by the scheduler itself are ignored. */
function isChanged(before: Pod, after: Pod): boolean {
  return (
    !equalJson(before.spec, after.spec) ||
    !equalJson(before.metadata?.labels, after.metadata?.labels) ||
    !equalJson(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses)
  )
}

/** Heartbeats are ignored. */
function mattersToPods(before: KubernetesObject, after: KubernetesObject): boolean {
  const parts = (object: KubernetesObject): unknown => {
    const { spec, status } = object as { spec?: object; status?: Record<string, unknown> }
    const { conditions = [], ...rest } = status ?? {}
    const states = (conditions as readonly NodeCondition[]).map(({ type, status: state }) => [type, state])
    return [object.metadata?.labels, object.metadata?.annotations, spec, rest, states]
  }
  return !equalJson(parts(before), parts(after))
}
