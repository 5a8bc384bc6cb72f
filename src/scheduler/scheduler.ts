/**
 * The scheduler. Informers feed the queue and the cache; the scheduling loop takes one pod at a time, finds
 * the best node in a snapshot, assumes the pod there and continues with the next pod, while the binding cycle
 * runs asynchronously. A pod with a failed binding is requeued.
 */
import { abortable } from '#/base/abort.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Pass } from '#/api/origin.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import type { Platform } from '#/platform/platform.ts'
import { ClusterEvents } from './cluster-events.ts'
import { BindingCycles } from './cycle/binding-cycles.ts'
import { Decisions, type DecisionSummary, type PodDecision } from './cycle/decisions.ts'
import { FailureReporter } from './cycle/failure-reporter.ts'
import { Preemptions } from './cycle/preemptions.ts'
import { addEventHandlers } from './event-handlers.ts'
import { diagnosisMessage } from './fit-error.ts'
import { eventLabel } from './event-label.ts'
import type { PluginHandle, PostFilterResult, QueuedPodInfo } from './framework.ts'
import { SchedulerMetrics, type CycleMetrics } from './metrics.ts'
import { Nominator } from './nominator.ts'
import { isPending } from './pod-assignment.ts'
import { podInfoOf, type PodInfo } from './pod-info.ts'
import { podResourceMetrics } from './pod-resource-metrics.ts'
import type { Profile, ProfileFactory } from './profile.ts'
import { SchedulingQueue } from './queue.ts'
import {
  evaluateNominatedNode,
  filterNodes,
  prioritizeNodes,
  runPreFilterPlugins,
  type FilterResult,
  type SchedulingCycle,
} from './schedule-pod.ts'
import { SchedulerCache } from './scheduler-cache.ts'

export type { PodDecision } from './cycle/decisions.ts'

export interface SchedulerOptions {
  readonly platform: Platform
  /** Authenticated as `system:kube-scheduler`. */
  readonly client: Client
  readonly profiles: ProfileFactory
  readonly backoffMs?: { readonly first: number; readonly max: number }
  readonly metrics?: MetricsRegistry | undefined
}

/** Milliseconds of scheduling after which the loop yields to the event loop. */
const turnMs = 5

export class Scheduler {
  readonly informers: Informers
  readonly #platform: Platform
  readonly #metrics: SchedulerMetrics
  readonly #cache = new SchedulerCache()
  readonly #decisions = new Decisions()
  readonly #profiles: ReadonlyMap<string, Profile>
  readonly #recorders = new Map<string, EventRecorder>()
  readonly #queue: SchedulingQueue
  readonly #events: ClusterEvents
  readonly #nominator: Nominator
  readonly #preemptions: Preemptions
  readonly #failures: FailureReporter
  readonly #bindings: BindingCycles
  /** Binding cycles and preemptions in progress. */
  readonly #inProgress = new Set<Promise<void>>()
  /** Resources with an event handler already registered. */
  readonly #watchedResources = new Set<string>()
  #nextNode = 0

  constructor(options: SchedulerOptions) {
    const { platform, client, profiles: makeProfiles, backoffMs } = options
    const metrics = new SchedulerMetrics(options.metrics ?? new MetricsRegistry(), platform.clock)
    const { clock } = platform
    this.#platform = platform
    this.#metrics = metrics
    this.informers = new Informers({ platform, client })
    const handle: PluginHandle = {
      platform,
      client,
      informer: resource => this.#informer(resource),
      snapshot: () => this.#cache.snapshot(),
      recheckPreEnqueue: key => this.#queue.recheckPreEnqueue(key),
      metrics,
    }
    const profiles = makeProfiles(handle)
    this.#profiles = new Map(profiles.map(profile => [profile.schedulerName, profile]))
    for (const { schedulerName } of profiles) {
      this.#recorders.set(schedulerName, new EventRecorder({ platform, client, component: schedulerName }))
    }
    const queue = new SchedulingQueue({
      clock,
      metrics,
      queueSort: profiles[0]!.queueSort,
      preEnqueue: pod => this.#preemptions.preEnqueue(pod) ?? this.#profileOf(pod)?.preEnqueue(pod),
      ...(backoffMs && { backoffMs }),
    })
    const { handled } = this.informers
    const profileOf = (pod: Pod): Profile | undefined => this.#profileOf(pod)
    const events = new ClusterEvents({ queue, profiles, profileOf, clock, metrics, handled })
    const recorderOf = (profile: Profile): EventRecorder => this.#recorderOf(profile)
    this.#queue = queue
    this.#events = events
    this.#nominator = new Nominator(events)
    this.#preemptions = new Preemptions({ platform, client, queue, metrics })
    this.#failures = new FailureReporter({ platform, client, recorderOf })
    this.#bindings = new BindingCycles({
      platform,
      client,
      queue,
      events,
      recorderOf,
      cache: this.#cache,
      failures: this.#failures,
      isReplaced: pod => this.#isReplaced(pod),
      metrics,
    })
    addEventHandlers({
      queue,
      events,
      informers: this.informers,
      cache: this.#cache,
      nominator: this.#nominator,
      decisions: this.#decisions,
      clock,
      metrics,
      isResponsibleFor: pod => this.#profileOf(pod) !== undefined,
    })
    metrics.addGauges({
      pendingPods: () => {
        const { inFlight: _inFlight, ...pending } = queue.sizes
        return pending
      },
      unschedulablePods: () => queue.unschedulablePods(),
      inFlightEvents: () => queue.inFlightEvents(),
      cacheSizes: () => this.#cache.sizes,
    })
  }

  /** Number of pods in each part of the queue. */
  get queueSizes(): SchedulingQueue['sizes'] {
    return this.#queue.sizes
  }

  /** True if no pod can be scheduled now and no binding or preemption is in progress. */
  get isIdle(): boolean {
    return this.#queue.isIdle && this.#inProgress.size === 0
  }

  /** True after the initial lists of all informers have been handled. */
  get hasSynced(): boolean {
    return this.informers.all().every(informer => informer.hasSynced)
  }

  /** The configuration in effect, as a KubeSchedulerConfiguration. */
  get configuration(): object {
    return {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      podInitialBackoffSeconds: this.#queue.backoffMs.first / 1_000,
      podMaxBackoffSeconds: this.#queue.backoffMs.max / 1_000,
      profiles: Array.from(this.#profiles.values(), profile => {
        const { schedulerName, percentageOfNodesToScore, plugins, scorers } = profile
        const weights = new Map(scorers.map(({ plugin, weight }) => [plugin.name, weight]))
        const enabled = plugins.map(({ name }) => ({ name, weight: weights.get(name) ?? 0 }))
        return { schedulerName, percentageOfNodesToScore, plugins: { multiPoint: { enabled } } }
      }),
    }
  }

  /** For `/metrics/resources`. */
  podResourceMetrics(): MetricsRegistry {
    return podResourceMetrics(() => this.informers.of(pods).list())
  }

  get busyKeys(): readonly string[] {
    return this.#queue.busyKeys
  }

  /** The last scheduling decision for a pod, if still cached. */
  decisionOn(key: string): PodDecision | undefined {
    return this.#decisions.get(key)
  }

  /** The last decisions on each pod that are still cached, the latest first. */
  latestDecisions(max: number): readonly DecisionSummary[] {
    return this.#decisions.latest(max)
  }

  /** Before `elected` resolves, only the caches are filled, so that a standby takes over at once. */
  async run(signal: AbortSignal, elected?: Promise<void>): Promise<void> {
    const running = [
      this.informers.run(signal),
      ...[...this.#recorders.values()].map(recorder => recorder.run(signal)),
    ]
    try {
      await this.informers.waitForSync(signal)
      if (elected) await abortable(elected, signal)
    } catch {
      return void (await Promise.all(running))
    }
    signal.addEventListener('abort', () => this.#queue.close(), { once: true })
    if (signal.aborted) this.#queue.close()
    await this.#scheduleAll(signal)
    await Promise.all([...running, ...this.#inProgress])
  }

  async #scheduleAll(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform
    let turnedMs = clock.monotonicMs()
    for (let queued = await this.#queue.pop(); queued !== undefined; queued = await this.#queue.pop()) {
      const startMs = clock.monotonicMs()
      try {
        await this.#scheduleOne(queued, startMs, signal)
      } catch (error) {
        if (signal.aborted) return
        log.error('Error scheduling pod; retrying', { pod: queued.key, error })
        this.#failed(queued, error, { startMs, signal })
      }
      if (clock.monotonicMs() - turnedMs < turnMs) continue
      await clock.turn()
      turnedMs = clock.monotonicMs()
    }
  }

  async #scheduleOne(queued: QueuedPodInfo, startMs: number, signal: AbortSignal): Promise<void> {
    const { key, pod } = queued
    const profile = this.#profileOf(pod)
    const current = this.informers.of(pods).get(key)
    if (profile === undefined || current === undefined || !isPending(current)) return this.#queue.delete(key)
    const info = podInfoOf(current)
    const startedMs = this.#platform.clock.now()
    const { schedulerName } = profile
    const metrics = this.#metrics.cycle(schedulerName, startMs)
    const snapshot = this.#cache.snapshot()
    metrics.step('snapshot', startMs)
    const cycle: MeasuredCycle = {
      queued,
      startMs,
      metrics,
      pass: () => cyclePass({ schedulerName, pod: info, queued, startMs, startedMs, metrics }),
      pod: info,
      profile,
      cycleState: {},
      snapshot,
      nominated: node => this.#nominator.podsOn(node),
      hasNominatedPods: !this.#nominator.isEmpty,
      nominatedNode: this.#nominator.nodeOf(info.uid),
      startAt: this.#nextNode,
      random: this.#platform.random,
    }
    const filtered = await this.#filter(cycle)
    if (filtered.feasible.length === 0) return this.#unschedulable(cycle, filtered, signal)
    const prioritize = () => prioritizeNodes(cycle, filtered.feasible)
    const result = await profile.extenders.prioritize(info, filtered, prioritize)
    this.#observeAlgorithm(cycle)
    this.#decisions.scheduled(info, { filtered, chosen: result, atMs: this.#platform.clock.now() })
    this.#bind(cycle, result.node, signal)
  }

  /** The nominated node is likely to fit, so the other nodes are examined only if it does not. */
  async #filter(cycle: SchedulingCycle): Promise<FilterResult> {
    const { pod, profile } = cycle
    const preFiltered = runPreFilterPlugins(cycle)
    const nominated = evaluateNominatedNode(cycle, preFiltered)
    if (nominated !== undefined) {
      const filtered = await profile.extenders.filter(pod, nominated)
      if (filtered.feasible.length > 0) return filtered
    }
    const filtered = filterNodes(cycle, preFiltered)
    this.#nextNode = (this.#nextNode + filtered.evaluatedNodes) % Math.max(1, cycle.snapshot.nodes.length)
    return profile.extenders.filter(pod, filtered)
  }

  /** Assumes the pod on the node; the binding cycle runs concurrently with the next scheduling cycles. */
  #bind(cycle: MeasuredCycle, node: string, signal: AbortSignal): void {
    const { pod, profile, cycleState, queued, startMs, metrics: cycleMetrics, pass } = cycle
    this.#cache.assume(pod, node)
    this.#nominator.assumed(pod, node)
    const binding = { pod, node, profile, cycleState, signal, queued, startMs, cycleMetrics, pass }
    this.#track(this.#bindings.run(binding))
  }

  #observeAlgorithm({ startMs }: MeasuredCycle): void {
    const tookMs = this.#platform.clock.monotonicMs() - startMs
    this.#metrics.schedulingAlgorithmSeconds.observe(tookMs / 1_000)
  }

  /** Runs postFilter, which may preempt other pods, and requeues the pod. */
  async #unschedulable(cycle: MeasuredCycle, filtered: FilterResult, signal: AbortSignal): Promise<void> {
    const { pod, profile, startMs, pass } = cycle
    const result = await this.#postFilter(cycle, filtered)
    this.#observeAlgorithm(cycle)
    this.#metrics.attempted('unschedulable', profile.schedulerName, startMs)
    // postFilter is asynchronous: no victims are evicted for a pod that is gone.
    if (!this.#isStillPending(pod)) return
    let message = diagnosisMessage(filtered)
    let nominatedNode: string | undefined
    if (result === undefined) {
      nominatedNode = ''
    } else if ('node' in result) {
      nominatedNode = result.node
      const { preempt } = result
      const recorder = this.#recorderOf(profile)
      if (preempt !== undefined) this.#track(this.#preemptions.run({ pod, preempt, recorder, signal, pass }))
    } else {
      message = `${message} ${result.message}`
      if (result.clearsNominatedNode) nominatedNode = ''
    }
    if (nominatedNode !== undefined) this.#nominator.nominate(pod, nominatedNode || undefined)
    this.#decisions.failed(pod, { filtered, message, atMs: this.#platform.clock.now() })
    const rejectedBy = [...filtered.nodeToStatus.values()].map(({ plugin = '' }) => plugin)
    const plugins = new Set([...rejectedBy, ...(filtered.preFilterPlugins ?? [])])
    this.#queue.addUnschedulable(pod.key, plugins.size === 0 ? noNodes : plugins)
    const report = { profile, signal, pass }
    this.#failures.report(pod, { reason: 'Unschedulable', message, nominatedNode }, report)
  }

  async #postFilter(
    { pod, profile, metrics }: MeasuredCycle,
    filtered: FilterResult,
  ): Promise<PostFilterResult | undefined> {
    if (filtered.snapshot.nodes.length === 0) return undefined
    const startMs = metrics.nowMs()
    const result = await profile.runPostFilterPlugins(pod, filtered)
    const isNominated = result !== undefined && 'node' in result
    metrics.extensionPoint('PostFilter', isNominated ? 'Success' : 'Unschedulable', startMs)
    return result
  }

  /** Requeues the pod after an error, such as a failed extender, which a retry may not have. */
  #failed(
    queued: QueuedPodInfo,
    error: unknown,
    { startMs, signal }: { readonly startMs: number; readonly signal: AbortSignal },
  ): void {
    const { key, pod } = queued
    this.#queue.addUnschedulable(key, new Set())
    const profile = this.#profileOf(pod)
    if (profile !== undefined) this.#metrics.attempted('error', profile.schedulerName, startMs)
    const info = podInfoOf(pod)
    if (profile === undefined || !this.#isStillPending(info)) return
    const { clock } = this.#platform
    const startedMs = clock.now() - (clock.monotonicMs() - startMs)
    const { schedulerName } = profile
    const pass = (): Pass => cyclePass({ schedulerName, pod: info, queued, startMs, startedMs })
    this.#failures.reportError(info, error, { profile, signal, pass })
  }

  #track(work: Promise<void>): void {
    this.#inProgress.add(work)
    void work.finally(() => this.#inProgress.delete(work))
  }

  /** True if the same pod, by uid, still exists and is pending. */
  #isStillPending({ key, uid }: PodInfo): boolean {
    const current = this.informers.of(pods).get(key)
    return current !== undefined && current.metadata.uid === uid && isPending(current)
  }

  #isReplaced({ key, uid }: PodInfo): boolean {
    const current = this.informers.of(pods).get(key)
    return current !== undefined && current.metadata.uid !== uid
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
    if (isOwn || this.#watchedResources.has(name)) return informer
    this.#watchedResources.add(name)
    informer.addEventHandler((_key, change) => {
      const startMs = this.#platform.clock.monotonicMs()
      this.#events.occurred(resource, change)
      this.#metrics.eventHandled(eventLabel(resource, change), startMs)
    })
    return informer
  }
}

interface MeasuredCycle extends SchedulingCycle {
  readonly queued: QueuedPodInfo
  /** Monotonic time when the cycle began. */
  readonly startMs: number
  readonly metrics: CycleMetrics
  /** Of the cycle so far. */
  readonly pass: () => Pass
}

/** Placeholder for a pod that no plugin rejected, since there are no nodes: every event may help. */
const noNodes: ReadonlySet<string> = new Set(['no nodes'])

interface PassedCycle {
  readonly schedulerName: string
  readonly pod: PodInfo
  readonly queued: QueuedPodInfo
  /** When the scheduling cycle began, on the monotonic clock and as wall time. */
  readonly startMs: number
  readonly startedMs: number
  /** Absent if the cycle failed with an error. */
  readonly metrics?: CycleMetrics
}

/** The pass of a scheduling cycle with its binding cycle so far. */
function cyclePass({ schedulerName, pod, queued, startMs, startedMs, metrics }: PassedCycle): Pass {
  const { queuedMs = startMs, movedBy } = queued
  const revision = Number(pod.pod.metadata.resourceVersion)
  const causes = [revision, movedBy ?? revision].filter(Number.isSafeInteger)
  return {
    component: schedulerName,
    key: pod.key,
    causes: [...new Set(causes)].toSorted((left, right) => left - right),
    queuedMs: startedMs - Math.max(0, startMs - queuedMs),
    startedMs,
    steps: metrics?.steps() ?? [],
  }
}
