/**
 * Evicts pods that exceed their limits of ephemeral storage, and pods of a node whose memory, disk or PIDs are low.
 * It is the only place that observes node pressure: the node status and the admission of pods read `pressures`.
 * One pod is evicted at a time, and its resources are released before the next decision. The signals are few kernel
 * files; the usage of pods is measured only for pods with limits, and for all pods when one has to be chosen.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import { isCriticalPod } from './critical-pod.ts'
import { exceededLimit, hasContainerLimit, hasStorageLimit } from './eviction/exceeded-limit.ts'
import { immediateGraceSeconds, planEviction } from './eviction/plan-eviction.ts'
import { isMet, needsReclaim, noPressure, planPressure } from './eviction/plan-pressure.ts'
import type { PressureState, SignalObservations } from './eviction/plan-pressure.ts'
import { PodUsages, type PodUsagesOptions, type UsagePart } from './eviction/pod-usage.ts'
import { SignalSources, type SignalSourcesOptions } from './eviction/signal-sources.ts'
import { evictionThresholds, signalKinds, thresholdAmount, type Threshold } from './eviction/thresholds.ts'
import type { PressureType, StarvedResource } from './eviction/thresholds.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { Images } from './images.ts'
import type { ObservedContainer } from './observed-pod.ts'
import type { PodWorker } from './pod-worker.ts'

export type { PressureType } from './eviction/thresholds.ts'

export interface EvictionOptions extends SignalSourcesOptions, PodUsagesOptions {
  readonly linux: SignalSourcesOptions['linux'] & PodUsagesOptions['linux']
  readonly runtime: SignalSourcesOptions['runtime'] & PodUsagesOptions['runtime']
  readonly cgroups: SignalSourcesOptions['cgroups'] & PodUsagesOptions['cgroups']
  readonly images: Pick<Images, 'deleteUnused'>
  readonly metrics: KubeletMetrics
  readonly workers: () => readonly EvictablePod[]
  readonly recorder: { record(about: Pod, content: EventContent): void }
  readonly recordOfNode: (content: EventContent) => void
  /** Called when a pressure condition has changed. */
  readonly onPressureChange: () => void
}

/** The part of a pod's worker that is used here. */
export type EvictablePod = Pick<
  PodWorker,
  'pod' | 'observed' | 'isStatic' | 'isActive' | 'isReleased' | 'fail' | 'removeContainers'
>

/** Monitoring period, as upstream. */
const periodMs = 10_000

/**
 * Memory is checked more often the less of it is left: it can fill at about this rate. The file is read at most five
 * times per second.
 */
const fillBytesPerMs = (2 * 1024 ** 3) / 1_000
const memoryCheckMsMin = 200

/** An evicted pod is waited for, so that its resources are free before the next decision. */
const cleanupMsMax = 30_000
const containerGcMsMax = 10_000
const cleanupCheckMs = 500

export class Eviction {
  readonly #options: EvictionOptions
  readonly #sources: SignalSources
  readonly #usages: PodUsages
  readonly #thresholds: readonly Threshold[]
  readonly #transitionMs: number
  #state: PressureState = noPressure

  /** Throws for settings that the kubelet does not accept. */
  constructor(options: EvictionOptions) {
    const { node } = options
    const transitionMs = tryParseDurationMs(node.evictionPressureTransitionPeriod)
    if (transitionMs === undefined || transitionMs <= 0)
      throw new Error(`invalid evictionPressureTransitionPeriod: ${node.evictionPressureTransitionPeriod}`)
    this.#options = options
    this.#sources = new SignalSources(options)
    this.#usages = new PodUsages(options)
    this.#thresholds = evictionThresholds(node)
    this.#transitionMs = transitionMs
  }

  /** Node pressure conditions that are true. */
  get pressures(): ReadonlySet<PressureType> {
    return new Set(this.#state.lastPressureMs.keys())
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options.platform
    while (!signal.aborted) {
      try {
        const evicted = await this.#synchronize(signal)
        if (evicted.length > 0) {
          await this.#waitUntil(() => evicted.every(({ isReleased }) => isReleased), cleanupMsMax, signal)
          continue
        }
      } catch (error) {
        if (!signal.aborted) log.error('Eviction manager: failed to synchronize', { error })
      }
      await this.#waitForNextRound(signal)
    }
  }

  /** One round. Resolves with the pods that it has begun to evict. */
  async #synchronize(signal: AbortSignal): Promise<readonly EvictablePod[]> {
    const { platform, metrics } = this.#options
    const observations = await this.#sources.observe(signal)
    const observedMs = platform.clock.monotonicMs()
    this.#updatePressure(observations)
    const overLimit = await this.#evictOverLimit(signal)
    if (overLimit.length > 0) return overLimit
    const [first, ...others] = this.#state.starved
    if (first === undefined) return []
    const ageSeconds = (platform.clock.monotonicMs() - observedMs) / 1_000
    for (const { signal: name } of this.#state.starved)
      metrics.node.evictionStatsAge.with(name).observe(ageSeconds)
    const { resource } = signalKinds[first.signal]
    platform.log.info('Eviction manager: attempting to reclaim', { resourceName: resource })
    this.#options.recordOfNode({
      type: 'Warning',
      reason: 'EvictionThresholdMet',
      message: `Attempting to reclaim ${resource}`,
    })
    if (await this.#reclaimNodeResources(first, signal)) return []
    return this.#evictForResource([first, ...others], observations, signal)
  }

  #updatePressure(observations: SignalObservations): void {
    const { platform, onPressureChange } = this.#options
    const before = this.pressures
    this.#state = planPressure(this.#state, {
      thresholds: this.#thresholds,
      observations,
      transitionMs: this.#transitionMs,
      nowMs: platform.clock.monotonicMs(),
    })
    if (before.symmetricDifference(this.pressures).size > 0) onPressureChange()
  }

  /** Writable layers and logs of a pod that limits only volumes are not measured. */
  async #evictOverLimit(signal: AbortSignal): Promise<readonly EvictablePod[]> {
    const limited = this.#active().filter(({ pod }) => hasStorageLimit(pod))
    if (limited.length === 0) return []
    const parts: readonly UsagePart[] = limited.some(({ pod }) => hasContainerLimit(pod))
      ? ['disk', 'containers']
      : ['disk']
    const usages = await this.#usages.measure(
      limited.map(({ pod }) => pod),
      new Set(parts),
      signal,
    )
    return limited.filter(worker => {
      const { pod, isStatic } = worker
      const usage = usages.get(pod.metadata.uid)
      const exceeded = usage && exceededLimit(pod, usage, this.#sources.hasDedicatedImageFs)
      if (exceeded === undefined || isCriticalPod(pod, isStatic)) return false
      // No disruption: the pod is itself the cause, so that a Job counts it as a failure.
      return this.#evict(worker, { ...exceeded, graceSeconds: immediateGraceSeconds, isDisruption: false })
    })
  }

  /** True if the node has enough afterwards. Only disk space can be reclaimed without evicting pods. */
  async #reclaimNodeResources({ signal: name }: Threshold, signal: AbortSignal): Promise<boolean> {
    const { images, platform } = this.#options
    const { pressure, resource } = signalKinds[name]
    // Containers and images are not on the node's filesystem if they have one of their own.
    const isElsewhere = this.#sources.hasDedicatedImageFs && name.startsWith('nodefs.')
    if (pressure !== 'DiskPressure' || isElsewhere) return false
    try {
      await this.#removeDeadContainers(signal)
      await images.deleteUnused(signal)
    } catch (error) {
      signal.throwIfAborted()
      const message = 'Eviction manager: unexpected error when attempting to reduce resource pressure'
      platform.log.info(message, { resourceName: resource, error })
    }
    const observations = await this.#sources.observe(signal)
    if (this.#thresholds.some(threshold => needsReclaim(threshold, observations))) return false
    const message = 'Eviction manager: able to reduce resource pressure without evicting pods.'
    platform.log.info(message, { resourceName: resource })
    return true
  }

  async #removeDeadContainers(signal: AbortSignal): Promise<void> {
    const dead = this.#options
      .workers()
      .filter(
        ({ isActive, isReleased, observed }) => !isActive && isReleased && observed.containers.length > 0,
      )
    for (const worker of dead) worker.removeContainers()
    const areGone = (): boolean => dead.every(({ observed }) => observed.containers.length === 0)
    await this.#waitUntil(areGone, containerGcMsMax, signal)
  }

  async #evictForResource(
    starved: readonly [Threshold, ...Threshold[]],
    observations: SignalObservations,
    signal: AbortSignal,
  ): Promise<readonly EvictablePod[]> {
    const { platform, node } = this.#options
    const [{ signal: name }] = starved
    const { resource } = signalKinds[name]
    const workers = this.#active().filter(({ observed }) => observed.containers.some(isRunning))
    const pods = workers.map(({ pod }) => pod)
    const usages = await this.#usages.measure(pods, measuredParts[resource], signal)
    const { hasDedicatedImageFs } = this.#sources
    const maxPodGraceSeconds = node.evictionMaxPodGracePeriod
    let candidates = workers.map(worker => {
      const { pod, isStatic } = worker
      const usage = usages.get(pod.metadata.uid)
      return { worker, pod, isStatic, usage: usage?.isComplete ? usage : undefined }
    })
    for (;;) {
      const input = { starved, observations, hasDedicatedImageFs, candidates, maxPodGraceSeconds }
      const plan = planEviction(input)
      if (plan === undefined) {
        platform.log.info('Eviction manager: unable to evict any pods from the node', {
          resourceName: resource,
        })
        return []
      }
      const { worker } = plan.candidate
      if (this.#evict(worker, { ...plan, signal: name, isDisruption: true })) return [worker]
      candidates = candidates.filter(candidate => candidate !== plan.candidate)
    }
  }

  /** False if the pod is failing already. */
  #evict(worker: EvictablePod, eviction: PodEviction): boolean {
    const { signal, message, annotations, graceSeconds, isDisruption } = eviction
    const { platform, recorder, metrics } = this.#options
    const { pod } = worker
    if (!worker.fail({ reason, message, isDisruption }, { graceSeconds })) return false
    metrics.node.evictions.with(signal).add()
    const { namespace, name, uid } = pod.metadata
    platform.log.info('Evicting pod', { namespace, pod: name, uid, message })
    recorder.record(pod, { type: 'Warning', reason, message, ...(annotations && { annotations }) })
    return true
  }

  #active(): readonly EvictablePod[] {
    return this.#options.workers().filter(({ isActive }) => isActive)
  }

  /** Until the period is over or a memory threshold is met. */
  async #waitForNextRound(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    const endMs = clock.monotonicMs() + periodMs
    while (!signal.aborted) {
      const observations = await this.#sources.observeMemory()
      if (this.#isNewlyMet(observations)) return
      const leftMs = endMs - clock.monotonicMs()
      if (leftMs <= 0) return
      const delayMs = Math.max(
        memoryCheckMsMin,
        headroomBytes(this.#thresholds, observations) / fillBytesPerMs,
      )
      await clock.sleep(Math.min(leftMs, delayMs), signal).catch(() => undefined)
    }
  }

  #isNewlyMet(observations: SignalObservations): boolean {
    const { firstMetMs } = this.#state
    return this.#thresholds.some(threshold => isMet(threshold, observations) && !firstMetMs.has(threshold))
  }

  async #waitUntil(isDone: () => boolean, timeMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    const endMs = clock.monotonicMs() + timeMs
    while (!isDone() && clock.monotonicMs() < endMs) await clock.sleep(cleanupCheckMs, signal)
  }
}

interface PodEviction {
  /** Signal or limit. */
  readonly signal: string
  readonly message: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly graceSeconds: number
  readonly isDisruption: boolean
}

const reason = 'Evicted'

const measuredParts: Readonly<Record<StarvedResource, ReadonlySet<UsagePart>>> = {
  'memory': new Set(['containers', 'memory']),
  'ephemeral-storage': new Set(['containers', 'disk']),
  'inodes': new Set(['containers', 'disk']),
  'pids': new Set(['processes']),
}

function isRunning({ state }: ObservedContainer): boolean {
  return state === 'running'
}

/** Bytes until the next threshold that is not met yet; Infinity if there is none. */
function headroomBytes(thresholds: readonly Threshold[], observations: SignalObservations): number {
  const left = thresholds.map(({ signal, value }) => {
    const observed = observations[signal]
    const bytes = observed ? observed.available - thresholdAmount(value, observed.capacity) : Infinity
    return bytes < 0 ? Infinity : bytes
  })
  return Math.min(...left)
}
