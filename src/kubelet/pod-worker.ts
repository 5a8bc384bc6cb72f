/**
 * The pod worker: manages one pod from its first appearance until it is cleaned up. Any event only triggers a
 * sync: API changes, runtime events, probe results, finished tasks, timers. A sync observes the runtime,
 * calls `planPod`, reports the status and starts the planned actions that are not in progress. It never waits
 * for long operations, and syncs of a pod never overlap. An idle pod costs nothing.
 */
import type { PodStatus } from '#/api/generated/core/v1.ts'
import { qosClassOf } from '#/api/core/qos-class.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Timer } from '#/platform/platform.ts'
import type { PodWorkerOperation } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { nothingObserved, usableSandbox, type ObservedContainer, type ObservedPod } from './observed-pod.ts'
import { planPod, type Termination, type PodPlan, type PodSyncInput, type Waiting } from './plan-pod.ts'
import { PodSteps } from './pod-steps.ts'
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts'
import type { SourcedPod } from './pod-sources.ts'
import { isTerminal, podStatus, rejectedStatus, type PodFailure } from './pod-status.ts'
import type { PendingResize } from './resize-allocation.ts'
import { PodActions } from './pod-worker/pod-actions.ts'
import { PodObserver } from './pod-worker/pod-observer.ts'
import { terminationMessage } from './termination-message.ts'

export interface PodWorkerOptions {
  readonly dependencies: PodWorkerDependencies
  readonly sourced: SourcedPod
  /** The node cannot allocate the resources of a resize: the pod in `sourced` has those that are allocated. */
  readonly pendingResize?: PendingResize | undefined
  /** Arrival of the pod, on the monotonic clock. */
  readonly seenMs?: number | undefined
  /** Called when the pod's status or containers changed. */
  readonly onChange: () => void
}

/** Debounce of events, when idle and while actions are in progress. */
const quietMs = 10
const busyQuietMs = 500

/** Retry delay after a failed sync, such as when the runtime does not answer. */
const retryMs = 1_000

/** A container that should run forever and exits earlier has failed to start. */
const shortRunMs = 60_000

export class PodWorker {
  readonly uid: string
  readonly steps: PodSteps
  readonly #options: PodWorkerOptions
  readonly #observer: PodObserver
  readonly #actions: PodActions
  #sourced: SourcedPod
  #pendingResize: PendingResize | undefined
  #resizePendingSinceMs = 0
  /** The pod was removed from its source. */
  #isGone = false
  #observed: ObservedPod = nothingObserved
  #status: PodStatus
  #failure: PodFailure | undefined
  #termination: Termination | undefined
  #isFinished = false
  #isSyncRequested = true
  /** Since when the next sync is due, on the monotonic clock. */
  #dueMs: number
  /** Wall time at which this worker began. */
  readonly #sinceMs: number
  /** The reason of the next sync, for metrics. */
  #operation: PodWorkerOperation = 'create'
  #endWait: (() => void) | undefined
  #timer: Timer | undefined
  #soon: Timer | undefined

  constructor(options: PodWorkerOptions) {
    const { dependencies, sourced, pendingResize } = options
    this.#options = options
    this.#sourced = sourced
    this.#pendingResize = pendingResize
    this.uid = sourced.pod.metadata.uid
    this.#status = (sourced.mirror ?? sourced.pod).status ?? {}
    const { runtime, linux, metrics, platform, node } = dependencies
    this.#dueMs = platform.clock.monotonicMs()
    this.#sinceMs = platform.clock.now()
    this.steps = new PodSteps({ clock: platform.clock, node: node.name })
    this.#receive(sourced, this.#dueMs - (options.seenMs ?? this.#dueMs))
    this.#observer = new PodObserver({
      runtime,
      uid: this.uid,
      clock: platform.clock,
      metrics,
      terminationMessage: container => terminationMessage(linux, container),
    })
    this.#actions = new PodActions({
      dependencies,
      pod: () => this.#sourced.pod,
      observed: () => this.#observed,
      status: () => this.#status,
      steps: this.steps,
      requestSync: () => this.requestSync(),
      syncSoon: () => this.syncSoon(),
      finish: () => this.#finish(),
    })
  }

  /** The pod with the latest status. */
  get pod(): KubeletPod {
    return { ...this.#sourced.pod, status: this.#status }
  }

  get observed(): ObservedPod {
    return this.#observed
  }

  /** True if the pod is cleaned up and removed from its source. */
  get isFinished(): boolean {
    return this.#isFinished && this.#isGone
  }

  get isStatic(): boolean {
    return this.#sourced.isStatic
  }

  /** True if no container is running and volumes and cgroups are released. */
  get isReleased(): boolean {
    return this.#actions.state().isReleased
  }

  /**
   * True if the pod counts against the node's allocatable resources: as for the scheduler, one that was deleted without
   * a grace period does not.
   */
  get isActive(): boolean {
    return !isTerminal(this.#status.phase) && !this.#isFinished && !this.#isGone
  }

  get lifecycle(): 'sync' | 'terminating' | 'terminated' {
    if (this.isReleased || this.#isFinished) return 'terminated'
    return this.#termination === undefined ? 'sync' : 'terminating'
  }

  /** Undefined if the pod has the resources that it asks for. */
  get pendingResize(): PendingResize | undefined {
    return this.#pendingResize
  }

  /** Meaningful while a resize is pending. */
  get resizePendingSinceMs(): number {
    return this.#resizePendingSinceMs
  }

  /** With a pending resize the pod has the resources that are allocated to it. */
  update(sourced: SourcedPod | undefined, pendingResize?: PendingResize): void {
    if (this.#pendingResize === undefined && pendingResize !== undefined)
      this.#resizePendingSinceMs = this.#options.dependencies.platform.clock.now()
    if (sourced !== undefined) this.#pendingResize = pendingResize
    if (this.#operation === 'sync') this.#operation = 'update'
    if (sourced !== undefined) {
      this.#receive(sourced)
      this.#options.dependencies.startup.observe(sourced.mirror ?? sourced.pod)
    }
    if (sourced === undefined) this.#isGone = true
    else {
      const [before, after] = [this.#sourced.pod.metadata, sourced.pod.metadata]
      const isOther = sourced.pod.spec !== this.#sourced.pod.spec
      if (isOther && this.#termination === undefined)
        this.#options.dependencies.objects.registerPod(sourced.pod)
      this.#sourced = sourced
      // Downward API volumes contain labels and annotations.
      const isSame =
        equalJson(before.labels, after.labels) && equalJson(before.annotations, after.annotations)
      if (!isSame) this.#actions.refresh()
    }
    this.requestSync()
  }

  /** Fails the pod: rejected at admission or evicted. False if it has failed before. */
  fail(
    failure: PodFailure,
    options: { readonly graceSeconds?: number; readonly isRejected?: boolean } = {},
  ): boolean {
    if (this.#failure !== undefined) return false
    this.#failure = failure
    if (options.isRejected) {
      this.#status = rejectedStatus(
        this.#sourced.pod,
        failure,
        this.#options.dependencies.platform.clock.now(),
      )
    }
    const grace = options.graceSeconds
    this.#termination = {
      isRemoved: false,
      ...this.#termination,
      ...(grace !== undefined && { graceSeconds: grace }),
    }
    this.requestSync()
    return true
  }

  /** Removes the containers of a pod that has terminated, and their logs. */
  removeContainers(): void {
    if (!isTerminal(this.#status.phase)) return
    this.#termination = { isRemoved: false, ...this.#termination, removesContainers: true }
    this.requestSync()
  }

  /** Called when an object that the pod references changed. */
  refresh(): void {
    this.#actions.refresh()
    this.requestSync()
  }

  /** Triggers a sync now, or after the one in progress. */
  requestSync(): void {
    if (!this.#isSyncRequested) this.#dueMs = this.#options.dependencies.platform.clock.monotonicMs()
    this.#isSyncRequested = true
    this.#endWait?.()
  }

  /** Schedules a sync after the debounce time, unless one happens before. */
  syncSoon(): void {
    const { clock } = this.#options.dependencies.platform
    const delayMs = this.#actions.isIdle ? quietMs : busyQuietMs
    this.#soon ??= clock.setTimer(delayMs, () => this.requestSync())
  }

  /** Runs until the pod is cleaned up or aborted. On abort, containers keep running. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform } = this.#options.dependencies
    const stop = (): void => this.#endWait?.()
    signal.addEventListener('abort', stop)
    this.#actions.follow(signal)
    while (!signal.aborted && !this.isFinished) {
      await this.#waitForSyncRequest()
      if (signal.aborted) break
      try {
        await this.#syncPodMeasured(signal)
      } catch (error) {
        if (signal.aborted) break
        const { namespace, name } = this.#sourced.pod.metadata
        platform.log.warn('Error syncing pod, skipping', { namespace, pod: name, uid: this.uid, error })
        this.#syncAt(platform.clock.now() + retryMs)
      }
    }
    signal.removeEventListener('abort', stop)
    this.#timer?.cancel()
    this.#soon?.cancel()
    this.#options.dependencies.probes.forget(this.uid)
  }

  async #waitForSyncRequest(): Promise<void> {
    if (this.#isSyncRequested) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#endWait = resolve
    await promise
    this.#endWait = undefined
  }

  async #syncPodMeasured(signal: AbortSignal): Promise<void> {
    const { platform, metrics } = this.#options.dependencies
    const [dueMs, operation] = [this.#dueMs, this.#operation]
    this.#operation = 'sync'
    const waitedMs = platform.clock.monotonicMs() - dueMs
    this.steps.beginSync(waitedMs)
    if (operation === 'create') this.#observeStart()
    await this.#syncPod(signal, platform.clock.now() - waitedMs)
    const kind = this.isFinished ? 'terminated' : this.#termination === undefined ? operation : 'kill'
    metrics.pods.workerDuration.with(kind).observe((platform.clock.monotonicMs() - dueMs) / 1_000)
  }

  #observeStart(): void {
    const { metrics } = this.#options.dependencies
    if (this.#status.startTime === undefined) metrics.pods.workerStartDuration.observe(this.#seenSeconds())
  }

  /** Since the arrival of the pod. */
  #seenSeconds(): number {
    const { seenMs, dependencies } = this.#options
    const nowMs = dependencies.platform.clock.monotonicMs()
    return (nowMs - (seenMs ?? nowMs)) / 1_000
  }

  /** `dueMs` is wall time. */
  async #syncPod(signal: AbortSignal, dueMs: number): Promise<void> {
    this.#isSyncRequested = false
    this.#soon?.cancel()
    this.#soon = undefined
    if (this.#isFinished) return
    const before = this.#observed
    this.#observed = this.#actions.isAbandoned ? nothingObserved : await this.#observer.observe(signal)
    this.#addObservationSteps(before, dueMs)
    this.#decideTermination()
    const input = this.#input()
    const plan = planPod(input)
    if (plan.stage !== 'running') this.#termination ??= { isRemoved: false }
    if (this.#termination !== undefined) this.#actions.endStarting()
    const isWritten = this.#report(plan, input)
    this.#follow()
    this.#actions.perform(plan.actions)
    if (!isWritten && this.#actions.isIdle) this.steps.settle()
    if (this.#termination?.isRemoved) this.#actions.abandonIfStuck()
    this.#actions.recordBackOff(plan.waiting)
    this.#syncAt(Math.min(plan.againAtMs ?? Infinity, this.#actions.againAtMs, this.#deadlineMs()))
    this.#options.onChange()
  }

  #input(): PodSyncInput {
    const { dependencies } = this.#options
    return {
      pod: this.#sourced.pod,
      status: this.#status,
      observed: this.#observed,
      nowMs: dependencies.platform.clock.now(),
      ...(this.#termination && { termination: this.#termination }),
      probes: id => dependencies.probes.results(id),
      ...this.#actions.state(),
    }
  }

  /** Decides whether the pod terminates: deletion, deadline or terminal phase. Irreversible. */
  #decideTermination(): void {
    const { pod } = this.#sourced
    const isRemoved = this.#isGone || pod.metadata.deletionTimestamp !== undefined
    if (
      this.#deadlineMs() <= this.#options.dependencies.platform.clock.now() &&
      this.#failure === undefined
    ) {
      this.#options.dependencies.recorder.record(pod, { type: 'Normal', ...deadlineExceeded })
      this.fail(deadlineExceeded)
    }
    const isOver = isTerminal(this.#status.phase)
    if (isRemoved || isOver) this.#termination = { ...this.#termination, isRemoved }
  }

  #deadlineMs(): number {
    const { activeDeadlineSeconds } = this.#sourced.pod.spec ?? {}
    const startedMs = parseTime(this.#status.startTime ?? '')
    if (activeDeadlineSeconds === undefined || startedMs === undefined || this.#termination) return Infinity
    return startedMs + Number(activeDeadlineSeconds) * 1_000
  }

  /** False if there is nothing to write. */
  #report(plan: PodPlan, input: PodSyncInput): boolean {
    const { dependencies } = this.#options
    const { pod, mirror, isStatic } = this.#sourced
    const waiting = new Map<string, Waiting>([...this.#actions.failures, ...plan.waiting])
    const { phase } = this.#status
    const isRejected = this.#failure !== undefined && this.#observed.sandboxes.length === 0
    if (!(isRejected && isTerminal(this.#status.phase))) {
      this.#status = podStatus({
        pod,
        previous: this.#status,
        observed: this.#observed,
        waiting,
        starting: input.starting,
        actuatedResources: input.actuatedResources,
        probes: input.probes,
        stage: plan.stage,
        ...(this.#failure && { failure: this.#failure }),
        ...(this.#pendingResize && { pendingResize: this.#pendingResize }),
        areVolumesReady: input.areVolumesReady,
        qosClass: qosClassOf(pod),
        nodeAddresses: dependencies.node.addresses,
        runtimeName: dependencies.runtimeName(),
        nowMs: input.nowMs,
      })
    }
    if (phase === 'Pending' && this.#status.phase === 'Running')
      dependencies.metrics.pods.startDuration.observe(this.#seenSeconds())
    const target = isStatic ? mirror : pod
    // An intermediate status with no running containers: the final status follows shortly, so this one need
    // not be written.
    const isTransient =
      plan.stage === 'terminating' && !this.#observed.containers.some(({ state }) => state === 'running')
    if (target === undefined || this.#isGone) return false
    const { steps } = this
    return dependencies.statuses.set(this.uid, { target, status: this.#status, isTransient, steps })
  }

  /** The version of the API object, which arrived `ageMs` ago. */
  #receive({ pod, mirror }: SourcedPod, ageMs = 0): void {
    this.steps.receive((mirror ?? pod).metadata.resourceVersion, ageMs)
  }

  /**
   * The run of each container that has exited since `before`, and the time from the first exit, or from when the sync
   * was due, until the state of the pod is known.
   */
  #addObservationSteps(before: ObservedPod, dueMs: number): void {
    const nowMs = this.#options.dependencies.platform.clock.now()
    const known = new Set(before.containers.flatMap(({ id, state }) => (state === 'exited' ? [id] : [])))
    const exited = this.#observed.containers.filter(({ id, state, startedMs }) => {
      // Those of an earlier kubelet are not measured.
      return state === 'exited' && !known.has(id) && startedMs >= this.#sinceMs
    })
    for (const container of exited) {
      const { name, startedMs, finishedMs } = container
      const step = this.#stepOfRun(container)
      const durationMs = Math.max(0, finishedMs - startedMs)
      if (step !== undefined) this.steps.add({ name: step, detail: name, startedMs, durationMs })
    }
    const startedMs = Math.min(dueMs, ...exited.map(({ finishedMs }) => finishedMs))
    this.steps.addWait({ name: 'relist', startedMs, durationMs: nowMs - startedMs })
  }

  /** Undefined if nothing waits for the container to exit. */
  #stepOfRun({ name, startedMs, finishedMs }: ObservedContainer): 'init' | 'run' | undefined {
    const { initContainers = [], restartPolicy } = this.#sourced.pod.spec ?? {}
    if (initContainers.some(container => container.name === name)) return 'init'
    if (this.#termination !== undefined) return undefined
    const isShort = finishedMs - startedMs < shortRunMs
    return isShort || (restartPolicy ?? 'Always') !== 'Always' ? 'run' : undefined
  }

  #follow(): void {
    const { dependencies } = this.#options
    const { starting } = this.#actions.state()
    const { pod } = this.#sourced
    const address =
      (pod.spec?.hostNetwork ? undefined : usableSandbox(pod, this.#observed)?.addresses[0]) ?? ''
    const running = this.#observed.containers.filter(
      ({ state, name }) => state === 'running' && !starting.has(name),
    )
    dependencies.probes.follow(
      pod,
      running.map(({ id, name, startedMs }) => {
        return {
          id,
          name,
          startedMs,
          address: address || (dependencies.node.addresses[0] ?? ''),
          ...this.#wasStarted(name),
        }
      }),
    )
  }

  #wasStarted(name: string): { readonly hasStarted?: boolean } {
    const { containerStatuses = [], initContainerStatuses = [] } = this.#status
    const own = [...containerStatuses, ...initContainerStatuses].find(status => status.name === name)
    return own?.started === undefined ? {} : { hasStarted: own.started }
  }

  /**
   * The pod is cleaned up. The status update completes its deletion in the API; mirror pods are deleted
   * separately.
   */
  #finish(): void {
    const { dependencies } = this.#options
    const { pod, isStatic } = this.#sourced
    this.#isFinished = true
    if (this.#isGone) dependencies.statuses.forget(this.uid)
    else if (!isStatic) {
      const { steps } = this
      dependencies.statuses.finish(this.uid, { target: pod, status: this.#status, steps })
    }
  }

  #syncAt(ms: number): void {
    const { clock } = this.#options.dependencies.platform
    this.#timer?.cancel()
    this.#timer = undefined
    if (ms === Infinity) return
    const delayMs = Math.min(Math.max(Math.ceil(ms - clock.now()), 1), timerMsMax)
    this.#timer = clock.setTimer(delayMs, () => this.requestSync())
  }
}

/** Maximum delay of a timer. */
const timerMsMax = 2 ** 31 - 1

const deadlineExceeded: PodFailure = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
}
