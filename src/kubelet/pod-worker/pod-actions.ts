import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Image } from '#/cri/cri.ts'
import { latestInSandbox, usableSandbox, type ObservedPod } from '../observed-pod.ts'
import type { KillContainer, PodAction, PodWorld, Waiting } from '../plan-pod.ts'
import { describePod, fieldPathOf, findContainer } from '../pod-containers.ts'
import type { PodParts } from '../pod-parts.ts'
import { podFolder, podLogFolder } from '../pod-paths.ts'
import type { Restart } from '../restart-backoff.ts'
import { createSandbox } from './create-sandbox.ts'
import { killContainer } from './kill-container.ts'
import { startContainer } from './start-container.ts'
import { StartError } from './start-error.ts'
import { Tasks } from './tasks.ts'
import { VolumeState } from './volume-state.ts'

export interface PodActionsOptions {
  readonly parts: PodParts
  readonly pod: () => Pod
  readonly observed: () => ObservedPod
  readonly wake: () => void
  /** After a moment, when nothing else wakes it. */
  readonly wakeSoon: () => void
  /** Nothing is left of the pod. */
  readonly finish: () => void
}

/** How long what could not be started is left alone; up to half as much again, so that not all come back together. */
const retryMs = 10_000

/** After a pull that failed. */
const pullRetryMs = 1_000
const retryJitter = 0.5

/** Performs what was planned, and remembers what only the kubelet knows: what is under way, and what has failed. */
export class PodActions {
  /** Why containers could not be started, by name. */
  readonly failures = new Map<string, Waiting>()
  readonly #options: PodActionsOptions
  readonly #tasks: Tasks
  readonly #starting = new Set<string>()
  readonly #stoppedSandboxes = new Set<string>()
  readonly #restarting = new Set<string>()
  readonly #condemned = new Map<string, string>()
  readonly #restarts = new Map<string, Restart>()
  readonly #retryAtMs = new Map<string, number>()
  readonly #kills = new Map<string, { readonly graceSeconds: number; readonly hurry: AbortController }>()
  /** Those that people were told of already, by the end that each follows. */
  readonly #toldBackoffs = new Map<string, string>()
  readonly #images = new Map<string, Promise<Image>>()
  readonly #start = new AbortController()
  readonly #volumes: VolumeState
  #sandboxRetryAtMs = 0
  #isReleased = false
  #signal: AbortSignal = new AbortController().signal

  constructor(options: PodActionsOptions) {
    this.#options = options
    const { clock, log } = options.parts.platform
    this.#volumes = new VolumeState({ ...options, signal: this.#start.signal })
    this.#tasks = new Tasks({
      nowMs: () => clock.now(),
      // While something else is under way, its end says more than this one.
      onEnd: () => (this.#tasks.isIdle ? options.wake() : options.wakeSoon()),
      onFailure: (key, error) => {
        if (!this.#signal.aborted) log.warn('an action for a pod failed', { ...this.#name(), key, error })
      },
    })
  }

  /** What it waits for ends when aborted. */
  follow(signal: AbortSignal): void {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#start.abort(signal.reason), { once: true })
  }

  world(): Pick<
    PodWorld,
    | 'areVolumesReady'
    | 'stoppedSandboxes'
    | 'isReleased'
    | 'starting'
    | 'restarting'
    | 'condemned'
    | 'restarts'
    | 'retryAtMs'
    | 'sandboxRetryAtMs'
    | 'volumesRetryAtMs'
  > {
    return {
      areVolumesReady: this.#volumes.ready !== undefined,
      stoppedSandboxes: this.#stoppedSandboxes,
      isReleased: this.#isReleased,
      starting: this.#starting,
      restarting: this.#restarting,
      condemned: this.#condemned,
      restarts: this.#restarts,
      retryAtMs: this.#retryAtMs,
      sandboxRetryAtMs: this.#sandboxRetryAtMs,
      volumesRetryAtMs: this.#volumes.retryAtMs,
    }
  }

  /** When something that failed may be tried again. */
  get againAtMs(): number {
    return Math.min(this.#tasks.againAtMs, this.#volumes.againAtMs)
  }

  get isIdle(): boolean {
    return this.#tasks.isIdle
  }

  /** The pod ends: what is still to begin, and does not run yet, is not waited for. */
  endStarting(): void {
    this.#start.abort(new Error('the pod ends'))
  }

  /** What the pod refers to has changed: copies of it are old, and what failed for want of it may work now. */
  refresh(): void {
    this.#volumes.expire()
    this.#retryAtMs.clear()
  }

  perform(actions: readonly PodAction[]): void {
    this.#tasks.keepFailures(new Set([...actions.map(keyOf), refreshKey]))
    for (const action of actions) this.#perform(action)
    if (this.#volumes.isStale) this.#tasks.begin(refreshKey, () => this.#volumes.refresh())
  }

  /** Once for each end of a container. */
  tellWaiting(waiting: ReadonlyMap<string, Waiting>): void {
    const { parts } = this.#options
    const pod = this.#options.pod()
    for (const name of waiting.keys()) {
      const target = findContainer(pod, name)
      const ended = this.#options.observed().containers.find(container => container.name === name)
      if (target === undefined || ended === undefined || this.#toldBackoffs.get(name) === ended.id) continue
      this.#toldBackoffs.set(name, ended.id)
      const message = `Back-off restarting failed container ${name} in pod ${describePod(pod)}`
      parts.recorder.record(pod, {
        type: 'Warning',
        reason: 'BackOff',
        message,
        fieldPath: fieldPathOf(target),
      })
    }
  }

  #perform(action: PodAction): void {
    const { runtime } = this.#options.parts
    const key = keyOf(action)
    switch (action.type) {
      case 'prepare-volumes':
        return this.#tasks.begin(key, () => this.#volumes.prepare())
      case 'fetch-image':
        return void this.#image(action.name)
      case 'create-sandbox':
        return this.#tasks.begin(key, () => this.#createSandbox(action))
      case 'start-container':
        return this.#beginStart(key, action)
      case 'kill-container':
        return this.#kill(key, action)
      case 'remove-container':
        return this.#tasks.begin(key, () => this.#removeContainer(action))
      case 'stop-sandbox':
        return this.#tasks.begin(key, async () => {
          await runtime.stopSandbox(action.id)
          this.#stoppedSandboxes.add(action.id)
          this.#info('sandbox stopped', { sandbox: action.id })
        })
      case 'remove-sandbox':
        return this.#tasks.begin(key, () => this.#removeSandbox(action.id))
      case 'release':
        return this.#tasks.begin(key, () => this.#release())
      case 'finish':
        return this.#tasks.begin(key, () => this.#finish())
    }
  }

  async #createSandbox({ attempt, isReplacement }: PodAction & { type: 'create-sandbox' }): Promise<void> {
    const { parts } = this.#options
    const pod = this.#options.pod()
    if (isReplacement) {
      const message = 'Pod sandbox changed, it will be killed and re-created.'
      parts.recorder.record(pod, { type: 'Normal', reason: 'SandboxChanged', message })
    }
    try {
      const id = await createSandbox(parts, pod, attempt)
      this.#info('sandbox made', { sandbox: id, attempt })
    } catch (error) {
      if (this.#start.signal.aborted) return
      this.#sandboxRetryAtMs = this.#retryTime()
      const message = `Failed to create pod sandbox: ${messageOf(error)}`
      parts.recorder.record(pod, { type: 'Warning', reason: 'FailedCreatePodSandBox', message })
      this.#info('sandbox could not be made', { attempt, error })
    }
  }

  #beginStart(key: string, action: PodAction & { type: 'start-container' }): void {
    if (this.#tasks.isRunning(key)) return
    this.#starting.add(action.name)
    this.#tasks.begin(key, async () => {
      try {
        await this.#startContainer(action)
      } finally {
        this.#starting.delete(action.name)
      }
    })
  }

  async #startContainer({ name, attempt, restart }: PodAction & { type: 'start-container' }): Promise<void> {
    const { parts } = this.#options
    const pod = this.#options.pod()
    const observed = this.#options.observed()
    const target = findContainer(pod, name)
    const sandbox = usableSandbox(pod, observed)
    const volumes = this.#volumes.ready
    if (target === undefined || sandbox === undefined || volumes === undefined) return
    if (restart) this.#restarts.set(name, restart)
    const image = this.#image(name)
    this.#images.delete(name)
    const debugged = pod.spec?.ephemeralContainers?.find(each => each.name === name)?.targetContainerName
    const debuggedId = debugged && latestInSandbox(observed, debugged)?.id
    try {
      await startContainer(parts, {
        pod,
        target,
        attempt,
        sandbox,
        addresses: pod.spec?.hostNetwork ? parts.node.addresses : sandbox.addresses,
        volumes,
        image,
        ...(debuggedId && { targetContainerId: debuggedId }),
        signal: this.#start.signal,
      })
      this.failures.delete(name)
      this.#retryAtMs.delete(name)
    } catch (error) {
      if (!(error instanceof StartError)) {
        if (this.#start.signal.aborted) return
        throw error
      }
      const { reason, message, containerId } = error
      this.failures.set(name, { reason, message })
      // Images have a backoff of their own, and that one has begun should soon be told.
      this.#retryAtMs.set(name, reason === 'ErrImagePull' ? this.#now() + pullRetryMs : this.#retryTime())
      if (containerId !== undefined) this.#condemned.set(containerId, 'FailedPostStartHook')
      this.#info('container could not be started', { container: name, attempt, reason, message })
    }
  }

  /** Asked for at most once until it is used. */
  #image(name: string): Promise<Image> {
    const known = this.#images.get(name)
    if (known !== undefined) return known
    const pod = this.#options.pod()
    const target = findContainer(pod, name)
    const image = target
      ? this.#options.parts.images.ensure(pod, target.container, this.#start.signal)
      : Promise.reject(new Error(`no container ${name}`))
    // Whoever starts the container sees what went wrong.
    image.catch(() => undefined)
    this.#images.set(name, image)
    return image
  }

  #kill(key: string, action: KillContainer): void {
    const known = this.#kills.get(action.id)
    if (known !== undefined && this.#tasks.isRunning(key)) {
      if (action.graceSeconds >= known.graceSeconds) return
      this.#hurry(action, known.hurry)
      return
    }
    if (action.isRestarted) this.#restarting.add(action.id)
    const hurry = new AbortController()
    this.#kills.set(action.id, { graceSeconds: action.graceSeconds, hurry })
    this.#tasks.begin(key, () => {
      const pod = this.#options.pod()
      return killContainer(this.#options.parts, {
        pod,
        action,
        addresses: this.#addresses(pod),
        isRepeated: known !== undefined,
        othersGone: () => this.#tasks.ended(action.after.map(id => `kill ${id}`)),
        signal: hurry.signal,
      })
    })
  }

  /** Less time is left than there was: hooks and others are not waited for, and the runtime is told so too. */
  #hurry(action: KillContainer, hurry: AbortController): void {
    this.#kills.set(action.id, { graceSeconds: action.graceSeconds, hurry })
    hurry.abort(new Error('the grace period became shorter'))
    this.#tasks.begin(`hurry ${action.id} ${action.graceSeconds}`, async () => {
      await this.#options.parts.runtime.stopContainer(
        action.id,
        Math.max(action.graceSeconds, hurrySecondsMin),
      )
    })
  }

  #addresses(pod: Pod): readonly string[] {
    const { node } = this.#options.parts
    const [sandbox] = this.#options.observed().sandboxes
    return pod.spec?.hostNetwork ? node.addresses : (sandbox?.addresses ?? [])
  }

  /** With its log, which nobody can ask for any more. */
  async #removeContainer({ id, name, attempt }: PodAction & { type: 'remove-container' }): Promise<void> {
    const { runtime, node, platform } = this.#options.parts
    await runtime.removeContainer(id)
    for (const known of [this.#condemned, this.#kills]) known.delete(id)
    this.#restarting.delete(id)
    const folder = join(podLogFolder(node, this.#options.pod()), name)
    const files = await platform.files.list(folder).catch(() => [])
    for (const file of files) {
      if (file.startsWith(`${attempt}.log`)) await platform.files.remove(join(folder, file))
    }
  }

  async #removeSandbox(id: string): Promise<void> {
    const { runtime } = this.#options.parts
    await runtime.stopSandbox(id)
    await runtime.removeSandbox(id)
    this.#stoppedSandboxes.delete(id)
  }

  async #release(): Promise<void> {
    const { volumes, cgroups } = this.#options.parts
    const uid = this.#options.pod().metadata?.uid ?? ''
    await volumes.release(uid, this.#signal)
    await cgroups.remove(uid)
    this.#isReleased = true
    this.#volumes.forget()
    this.#info('volumes and control groups are given back')
  }

  async #finish(): Promise<void> {
    const { platform, node } = this.#options.parts
    const pod = this.#options.pod()
    await platform.files.remove(podFolder(node, pod.metadata?.uid ?? ''))
    await platform.files.remove(podLogFolder(node, pod))
    this.#options.finish()
  }

  #now(): number {
    return this.#options.parts.platform.clock.now()
  }

  #retryTime(): number {
    const { random } = this.#options.parts.platform
    return this.#now() + retryMs * (1 + retryJitter * random.fraction('retry of a pod'))
  }

  #name(): Readonly<Record<string, unknown>> {
    const { namespace, name, uid } = this.#options.pod().metadata ?? {}
    return { namespace, pod: name, uid }
  }

  #info(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#options.parts.platform.log.info(message, { ...this.#name(), ...fields })
  }
}

const refreshKey = 'refresh'

/** Somebody is in a hurry: it may be killed almost at once. */
const hurrySecondsMin = 1

function keyOf(action: PodAction): string {
  switch (action.type) {
    case 'start-container':
    case 'fetch-image':
      return `${action.type} ${action.name}`
    case 'kill-container':
      return `kill ${action.id}`
    case 'remove-container':
    case 'stop-sandbox':
    case 'remove-sandbox':
      return `${action.type} ${action.id}`
    case 'prepare-volumes':
    case 'create-sandbox':
    case 'release':
    case 'finish':
      return action.type
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
