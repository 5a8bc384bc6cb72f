import { messageOf } from '#/base/message-of.ts'
import { join } from 'node:path'
import type { PodAction, PodWorld, Waiting } from '../plan-pod.ts'
import { podFolder, podLogFolder } from '../pod-paths.ts'
import { ContainerKills, killKey } from './container-kills.ts'
import { ContainerStarts } from './container-starts.ts'
import { createSandbox } from './create-sandbox.ts'
import { PodMatters, type PodMattersOptions } from './pod-matters.ts'
import { resizeContainers } from './resize-containers.ts'
import { Tasks } from './tasks.ts'
import { VolumeState } from './volume-state.ts'

export interface PodActionsOptions extends PodMattersOptions {
  readonly wake: () => void
  /** Schedules a sync after the debounce time. */
  readonly wakeSoon: () => void
  /** Called when the pod is cleaned up. */
  readonly finish: () => void
}

/**
 * Minimum time between sandbox creations, so that a sandbox without a pod IP is not replaced in a tight loop.
 */
const sandboxPauseMs = 1_000

/** Kubelet-internal state that plans depend on. */
export type Remembered = Omit<PodWorld, 'pod' | 'status' | 'observed' | 'nowMs' | 'ending' | 'probes'>

/** Performs planned actions and tracks those in progress and those that failed. */
export class PodActions {
  readonly #matters: PodMatters
  readonly #tasks: Tasks
  readonly #starts: ContainerStarts
  readonly #kills: ContainerKills
  readonly #volumes: VolumeState
  readonly #finished: () => void
  readonly #stoppedSandboxes = new Set<string>()
  readonly #start = new AbortController()
  #sandboxRetryAtMs = 0
  #isReleased = false
  #signal: AbortSignal = new AbortController().signal

  constructor(options: PodActionsOptions) {
    const matters = new PodMatters(options)
    const { clock, log } = matters.parts.platform
    const tasks: Tasks = new Tasks({
      nowMs: () => clock.now(),
      // While other tasks run, the sync is debounced: their completion triggers one anyway.
      onEnd: () => (tasks.isIdle ? options.wake() : options.wakeSoon()),
      onFailure: (key, error) => {
        if (this.#signal.aborted) return
        log.warn('an action for a pod failed', { ...matters.name(), key, error })
        if (isKill(key)) matters.tell('FailedKillPod', `error killing pod: ${messageOf(error)}`)
      },
    })
    const { signal } = this.#start
    this.#matters = matters
    this.#tasks = tasks
    this.#finished = options.finish
    this.#volumes = new VolumeState({ ...options, signal })
    this.#starts = new ContainerStarts({ matters, tasks, volumes: this.#volumes, signal })
    this.#kills = new ContainerKills({ matters, tasks })
  }

  /** Waiting is canceled when the signal aborts. */
  follow(signal: AbortSignal): void {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#start.abort(signal.reason), { once: true })
  }

  remembered(): Remembered {
    const { starting, condemned, given, restarts, retryAtMs } = this.#starts
    return {
      starting,
      condemned,
      given,
      restarts,
      retryAtMs,
      restarting: this.#kills.restarting,
      areVolumesReady: this.#volumes.ready !== undefined,
      volumesRetryAtMs: this.#volumes.retryAtMs,
      stoppedSandboxes: this.#stoppedSandboxes,
      isMakingSandbox: this.#tasks.isRunning('create-sandbox'),
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

  /** The pod terminates: pending starts are canceled. */
  endStarting(): void {
    this.#start.abort(new Error('the pod ends'))
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
  tellWaiting(waiting: ReadonlyMap<string, Waiting>): void {
    this.#starts.tellWaiting(waiting)
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
        return this.#tasks.begin(key, () => this.#stopSandbox(action.id))
      case 'remove-sandbox':
        return this.#tasks.begin(key, () => this.#removeSandbox(action.id))
      case 'release':
        return this.#tasks.begin(key, () => this.#release())
      case 'finish':
        return this.#tasks.begin(key, () => this.#finish())
    }
  }

  async #createSandbox({ attempt, isReplacement }: PodAction & { type: 'create-sandbox' }): Promise<void> {
    const { parts } = this.#matters
    const pod = this.#matters.pod()
    const { signal } = this.#start
    if (isReplacement) {
      const message = 'Pod sandbox changed, it will be killed and re-created.'
      parts.recorder.record(pod, { type: 'Normal', reason: 'SandboxChanged', message })
    }
    try {
      // containerd 2 reports containers whose shim was killed as exited, and leaves their processes running.
      if (isReplacement) await parts.cgroups.killProcesses(pod.metadata?.uid ?? '')
      const { id: sandbox, tookMs } = await createSandbox(parts, { pod, attempt, signal })
      this.#sandboxRetryAtMs = parts.platform.clock.now() + sandboxPauseMs
      this.#matters.log('sandbox made', { sandbox, attempt, tookMs })
    } catch (error) {
      if (signal.aborted) return
      this.#sandboxRetryAtMs = this.#matters.retryTimeMs()
      this.#matters.tell('FailedCreatePodSandBox', `Failed to create pod sandbox: ${messageOf(error)}`)
      this.#matters.log('sandbox could not be made', { attempt, error })
    }
  }

  async #stopSandbox(id: string): Promise<void> {
    await this.#matters.parts.runtime.stopSandbox(id)
    this.#stoppedSandboxes.add(id)
    this.#matters.log('sandbox stopped', { sandbox: id })
  }

  async #removeSandbox(id: string): Promise<void> {
    const { runtime } = this.#matters.parts
    await runtime.stopSandbox(id)
    await runtime.removeSandbox(id)
    this.#stoppedSandboxes.delete(id)
  }

  /** Also removes its log, which can no longer be requested. */
  async #removeContainer({ id, name, attempt }: PodAction & { type: 'remove-container' }): Promise<void> {
    const { runtime, node, platform } = this.#matters.parts
    await runtime.removeContainer(id)
    this.#starts.condemned.delete(id)
    this.#starts.given.delete(id)
    this.#kills.forget(id)
    const folder = join(podLogFolder(node, this.#matters.pod()), name)
    const files = await platform.files.list(folder).catch(() => [])
    for (const file of files) {
      if (file.startsWith(`${attempt}.log`)) await platform.files.remove(join(folder, file))
    }
  }

  async #resize(): Promise<void> {
    const { parts, pod: podOf, observed, status } = this.#matters
    const { given } = this.#starts
    const resized = { pod: podOf(), status: status(), observed: observed(), given }
    await resizeContainers(parts, resized, (id, resources) => given.set(id, resources))
    this.#matters.log('containers have other resources')
  }

  async #release(): Promise<void> {
    const { volumes, cgroups } = this.#matters.parts
    const uid = this.#matters.pod().metadata?.uid ?? ''
    await volumes.release(uid, this.#signal)
    await cgroups.remove(uid)
    this.#isReleased = true
    this.#volumes.forget()
    this.#matters.log('volumes and control groups are given back')
  }

  async #finish(): Promise<void> {
    const { platform, node } = this.#matters.parts
    const pod = this.#matters.pod()
    await platform.files.remove(podFolder(node, pod.metadata?.uid ?? ''))
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
