import { join } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import type { ResourceRequirements } from '#/api/generated/core/v1.ts'
import { CriError, type LinuxResources } from '#/cri/cri.ts'
import type { PodAction, PodSyncInput, Waiting } from '../plan-pod.ts'
import { podFolder, podLogFolder } from '../pod-paths.ts'
import { ContainerKills, killKey } from './container-kills.ts'
import { ContainerStarts } from './container-starts.ts'
import { createSandbox } from './create-sandbox.ts'
import { PodContext, type PodContextOptions } from './pod-context.ts'
import { Tasks } from './tasks.ts'
import { VolumeState } from './volume-state.ts'
import { containerResources } from '../container-config/resources.ts'
import { resizedContainers, type ResizeInput } from '../container-resize.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'

export interface PodActionsOptions extends PodContextOptions {
  readonly requestSync: () => void
  /** Schedules a sync after the debounce time. */
  readonly syncSoon: () => void
  /** Called when the pod is cleaned up. */
  readonly finish: () => void
}

/**
 * Minimum time between sandbox creations, so that a sandbox without a pod IP is not replaced in a tight loop.
 */
const sandboxPauseMs = 1_000

/** Time for the runtime to stop and remove a deleted pod, in spite of failures. */
const removalMsMax = 300_000

/** Kubelet-internal state that plans depend on. */
export type PodActionState = Omit<
  PodSyncInput,
  'pod' | 'status' | 'observed' | 'nowMs' | 'termination' | 'probes'
>

/** Performs planned actions and tracks those in progress and those that failed. */
export class PodActions {
  readonly #context: PodContext
  readonly #tasks: Tasks
  readonly #starts: ContainerStarts
  readonly #kills: ContainerKills
  readonly #volumes: VolumeState
  readonly #finished: () => void
  readonly #stoppedSandboxes = new Set<string>()
  readonly #start = new AbortController()
  #sandboxRetryAtMs = 0
  #isReleased = false
  #isAbandoned = false
  #signal: AbortSignal = new AbortController().signal

  constructor(options: PodActionsOptions) {
    const context = new PodContext(options)
    const { clock, log } = context.dependencies.platform
    const tasks: Tasks = new Tasks({
      nowMs: () => clock.now(),
      // While other tasks run, the sync is debounced: their completion triggers one anyway.
      onEnd: () => (tasks.isIdle ? options.requestSync() : options.syncSoon()),
      onFailure: (key, error) => {
        if (this.#signal.aborted) return
        log.warn('Pod action failed', { ...context.name(), key, error })
        if (isKill(key)) context.recordWarning('FailedKillPod', `error killing pod: ${messageOf(error)}`)
      },
    })
    const { signal } = this.#start
    this.#context = context
    this.#tasks = tasks
    this.#finished = options.finish
    this.#volumes = new VolumeState({ ...options, signal })
    this.#starts = new ContainerStarts({ context, tasks, volumes: this.#volumes, signal })
    this.#kills = new ContainerKills({ context, tasks })
  }

  /** Waiting is canceled when the signal aborts. */
  follow(signal: AbortSignal): void {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#start.abort(signal.reason), { once: true })
  }

  state(): PodActionState {
    const { starting, toKill, actuatedResources, restarts, retryAtMs } = this.#starts
    return {
      starting,
      toKill,
      actuatedResources,
      restarts,
      retryAtMs,
      restarting: this.#kills.restarting,
      areVolumesReady: this.#volumes.ready !== undefined,
      volumesRetryAtMs: this.#volumes.retryAtMs,
      stoppedSandboxes: this.#stoppedSandboxes,
      isCreatingSandbox: this.#tasks.isRunning('create-sandbox'),
      sandboxRetryAtMs: this.#sandboxRetryAtMs,
      isReleased: this.#isReleased,
    }
  }

  /** Reasons of failed container starts, by name. */
  get failures(): ReadonlyMap<string, Waiting> {
    return this.#starts.failures
  }

  /** Earliest time of a retry. */
  get againAtMs(): number {
    return Math.min(this.#tasks.againAtMs, this.#volumes.againAtMs)
  }

  get isIdle(): boolean {
    return this.#tasks.isIdle
  }

  /** The runtime failed to remove the pod. Its processes were killed, and its remains in the runtime are orphans. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Abandons a deleted pod if the runtime has failed to stop or remove it for too long. */
  abandonIfStuck(): void {
    const { clock } = this.#context.dependencies.platform
    if (clock.now() - this.#tasks.failingSinceMs(isRemoval) < removalMsMax) return
    this.#tasks.begin('abandon', () => this.#abandon())
  }

  /** The pod terminates: pending starts are canceled. */
  endStarting(): void {
    this.#start.abort(new Error('pod is terminating'))
  }

  /** A referenced object changed: volumes are refreshed, and failed starts are retried. */
  refresh(): void {
    this.#volumes.expire()
    this.#starts.retryAtMs.clear()
  }

  perform(actions: readonly PodAction[]): void {
    this.#tasks.keepFailures(new Set([...actions.map(keyOf), refreshKey]))
    for (const action of actions) this.#perform(action)
    if (this.#volumes.isStale) this.#tasks.begin(refreshKey, () => this.#volumes.refresh())
  }

  /** Records BackOff events. */
  recordBackOff(waiting: ReadonlyMap<string, Waiting>): void {
    this.#starts.recordBackOff(waiting)
  }

  #perform(action: PodAction): void {
    const key = keyOf(action)
    switch (action.type) {
      case 'prepare-volumes':
        return this.#tasks.begin(key, () => this.#volumes.prepare())
      case 'fetch-image':
        return void this.#starts.image(action.name)
      case 'create-sandbox':
        return this.#tasks.begin(key, () => this.#createSandbox(action))
      case 'start-container':
        return this.#starts.begin(key, action)
      case 'kill-container':
        return this.#kills.begin(action)
      case 'resize-containers':
        return this.#tasks.begin(key, () => this.#resize())
      case 'remove-container':
        return this.#tasks.begin(key, () => this.#removeContainer(action))
      case 'stop-sandbox':
        return this.#tasks.begin(key, () => this.#tearDown('sandbox', () => this.#stopSandbox(action.id)))
      case 'remove-sandbox':
        return this.#tasks.begin(key, () => this.#tearDown('sandbox', () => this.#removeSandbox(action.id)))
      case 'release':
        return this.#tasks.begin(key, () => this.#tearDown('volumes', () => this.#release()))
      case 'finish':
        return this.#tasks.begin(key, () => this.#finish())
    }
  }

  async #createSandbox({ attempt, isReplacement }: PodAction & { type: 'create-sandbox' }): Promise<void> {
    const { dependencies, steps } = this.#context
    const pod = this.#context.pod()
    const { signal } = this.#start
    const { starts } = dependencies.metrics
    const isUserNamespaced = pod.spec?.hostUsers === false
    starts.startedPods.add()
    if (isUserNamespaced) starts.startedUserNamespacedPods.add()
    if (isReplacement) {
      const message = 'Pod sandbox changed, it will be killed and re-created.'
      dependencies.recorder.record(pod, { type: 'Normal', reason: 'SandboxChanged', message })
    }
    try {
      // containerd 2 reports containers whose shim was killed as exited, and leaves their processes running.
      if (isReplacement) await dependencies.cgroups.killProcesses(pod.metadata.uid)
      const { id: sandbox, tookMs } = await createSandbox(dependencies, { pod, attempt, signal, steps })
      this.#sandboxRetryAtMs = dependencies.platform.clock.now() + sandboxPauseMs
      this.#context.log('Created PodSandbox for pod', { sandbox, attempt, tookMs })
    } catch (error) {
      if (signal.aborted) return
      starts.startedPodErrors.add()
      if (isUserNamespaced) starts.startedUserNamespacedPodErrors.add()
      this.#sandboxRetryAtMs = this.#context.retryTimeMs()
      this.#context.recordWarning(
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: ${messageOf(error)}`,
      )
      this.#context.log('CreatePodSandbox for pod failed', { attempt, error })
    }
  }

  #tearDown(part: string, work: () => Promise<void>): Promise<void> {
    return this.#context.steps.run('teardown', part, work)
  }

  async #stopSandbox(id: string): Promise<void> {
    await this.#killIfUnresponsive(id, () => this.#context.dependencies.runtime.stopPodSandbox(id))
    this.#stoppedSandboxes.add(id)
    this.#context.log('Stopped PodSandbox', { sandbox: id })
  }

  async #removeSandbox(id: string): Promise<void> {
    const { runtime } = this.#context.dependencies
    await this.#killIfUnresponsive(id, async () => {
      await runtime.stopPodSandbox(id)
      await runtime.removePodSandbox(id)
    })
    this.#stoppedSandboxes.delete(id)
  }

  /** A sandbox that is not needed anymore is killed without a check when the runtime does not end it in time. */
  async #killIfUnresponsive(id: string, work: () => Promise<void>): Promise<void> {
    const { unresponsive } = this.#context.dependencies
    try {
      await work()
    } catch (error) {
      if (error instanceof CriError && error.reason === 'timeout')
        await unresponsive.kill({ id, metadata: this.#context.pod().metadata })
      throw error
    }
  }

  async #abandon(): Promise<void> {
    // Kills what is left, and fails while it cannot be killed.
    await this.#context.dependencies.cgroups.remove(this.#context.pod().metadata.uid)
    this.#isAbandoned = true
    this.#context.recordWarning('FailedKillPod', 'the container runtime does not remove the pod, giving up')
    this.#context.log('Abandoned pod that the container runtime does not remove')
  }

  /** Also removes its log, which can no longer be requested. */
  async #removeContainer({ id, name, attempt }: PodAction & { type: 'remove-container' }): Promise<void> {
    const { runtime, node, platform } = this.#context.dependencies
    await runtime.removeContainer(id)
    this.#starts.toKill.delete(id)
    this.#starts.actuatedResources.delete(id)
    this.#kills.forget(id)
    const folder = join(podLogFolder(node, this.#context.pod()), name)
    const files = await platform.files.list(folder).catch(() => [])
    for (const file of files) {
      if (file.startsWith(`${attempt}.log`)) await platform.files.remove(join(folder, file))
    }
  }

  async #resize(): Promise<void> {
    const { dependencies, pod: podOf, observed, status } = this.#context
    const { actuatedResources } = this.#starts
    const resized = { pod: podOf(), status: status(), observed: observed(), actuatedResources }
    await resizeContainers(dependencies, resized, (id, resources) => actuatedResources.set(id, resources))
    this.#context.log('Resized containers in place')
  }

  async #release(): Promise<void> {
    const { volumes, cgroups } = this.#context.dependencies
    const uid = this.#context.pod().metadata.uid
    await volumes.unmount(uid, this.#signal)
    await cgroups.remove(uid)
    this.#isReleased = true
    this.#volumes.forget()
    this.#context.log('Released volumes and cgroups of pod')
  }

  async #finish(): Promise<void> {
    const { platform, node } = this.#context.dependencies
    const pod = this.#context.pod()
    await platform.files.remove(podFolder(node, pod.metadata.uid))
    await platform.files.remove(podLogFolder(node, pod))
    this.#finished()
  }
}

const refreshKey = 'refresh'

function keyOf(action: PodAction): string {
  switch (action.type) {
    case 'start-container':
    case 'fetch-image':
      return `${action.type} ${action.name}`
    case 'kill-container':
      return killKey(action.id)
    case 'remove-container':
    case 'stop-sandbox':
    case 'remove-sandbox':
      return `${action.type} ${action.id}`
    case 'prepare-volumes':
    case 'create-sandbox':
    case 'resize-containers':
    case 'release':
    case 'finish':
      return action.type
  }
}

function isKill(key: string): boolean {
  return key.startsWith(killKey('')) || key.startsWith('stop-sandbox')
}

function isRemoval(key: string): boolean {
  return isKill(key) || key.startsWith('remove-')
}

/**
 * Resizes running containers in place. The pod cgroup has to grow before and shrink after its containers, so
 * it is updated twice; only the second update has to succeed.
 */
async function resizeContainers(
  dependencies: Pick<PodWorkerDependencies, 'runtime' | 'cgroups' | 'machine'>,
  resized: ResizeInput & { readonly pod: KubeletPod },
  onResized: (id: string, resources: ResourceRequirements) => void,
): Promise<void> {
  const { runtime, cgroups, machine } = dependencies
  const { pod } = resized
  await cgroups.ensure(pod).catch(() => undefined)
  for (const [container, { id }] of resizedContainers(resized)) {
    await runtime.updateContainerResources(id, changeable(containerResources(pod, container, machine())))
    onResized(id, container.resources ?? {})
  }
  await cgroups.ensure(pod)
}

/** The resources that can change; others are left unchanged. */
function changeable(all: LinuxResources): LinuxResources {
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitBytes, memorySwapLimitBytes } = all
  return {
    ...(cpuPeriod !== undefined && { cpuPeriod }),
    ...(cpuQuota !== undefined && { cpuQuota }),
    ...(cpuShares !== undefined && { cpuShares }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    ...(memorySwapLimitBytes !== undefined && { memorySwapLimitBytes }),
  }
}
