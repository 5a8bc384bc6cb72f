import { abortable } from '#/base/abort.ts'
import type { ResourceRequirements } from '#/api/generated/core/v1.ts'
import type { Image } from '#/cri/cri.ts'
import type { ContainerType } from '../kubelet-metrics.ts'
import { latestInSandbox, usableSandbox } from '../observed-pod.ts'
import { ImageError } from '../images.ts'
import type { PodAction, Waiting } from '../plan-pod.ts'
import { formatPod } from '../kubelet-pod.ts'
import { fieldPathOf, findContainer, type ContainerKind } from '../pod-containers.ts'
import type { Restart } from '../restart-backoff.ts'
import type { PodContext } from './pod-context.ts'
import { startContainer } from './start-container.ts'
import { StartError } from './start-error.ts'
import type { Tasks } from './tasks.ts'
import type { VolumeState } from './volume-state.ts'

export interface ContainerStartsOptions {
  readonly context: PodContext
  readonly tasks: Tasks
  readonly volumes: VolumeState
  /** When aborted, no new start begins. */
  readonly signal: AbortSignal
}

type StartAction = PodAction & { readonly type: 'start-container' }

/**
 * Retry delay after a failed pull: short, because pulls have their own backoff, which should become visible
 * soon.
 */
const pullRetryMs = 1_000

/** Starts containers of a pod and tracks the results. State is keyed by container name unless noted. */
export class ContainerStarts {
  readonly starting = new Set<string>()
  /** Reasons of failed starts. */
  readonly failures = new Map<string, Waiting>()
  readonly retryAtMs = new Map<string, number>()
  readonly restarts = new Map<string, Restart>()
  /** By container id: running containers that have to be killed, with the reason. */
  readonly toKill = new Map<string, string>()
  /** By container id: resources applied at creation or by a resize. */
  readonly actuatedResources = new Map<string, ResourceRequirements>()
  readonly #options: ContainerStartsOptions
  readonly #images = new Map<string, Promise<Image>>()
  /** Id of the exited container for which a BackOff event was recorded, by name. */
  readonly #backOffRecorded = new Map<string, string>()
  readonly #backOffs = new Map<string, BackOff>()

  constructor(options: ContainerStartsOptions) {
    this.#options = options
  }

  begin(key: string, action: StartAction): void {
    const { tasks } = this.#options
    if (!tasks.mayBegin(key)) return
    this.starting.add(action.name)
    tasks.begin(key, async () => {
      try {
        await this.#start(action)
      } finally {
        this.starting.delete(action.name)
      }
    })
  }

  /** Each image is requested only once until it is used. */
  image(name: string): Promise<Image> {
    const { context, signal } = this.#options
    const known = this.#images.get(name)
    if (known !== undefined) return known
    const pod = context.pod()
    const target = findContainer(pod, name)
    const image = target
      ? context.dependencies.images.ensure(pod, target.container, signal)
      : Promise.reject(new Error(`no container ${name}`))
    // The error is reported when the container starts.
    image.catch(() => undefined)
    this.#images.set(name, image)
    return image
  }

  /** Records BackOff events, once per exit. */
  recordBackOff(waiting: ReadonlyMap<string, Waiting>): void {
    const { dependencies, pod: podOf, observed } = this.#options.context
    const pod = podOf()
    for (const name of waiting.keys()) {
      const target = findContainer(pod, name)
      const ended = observed().containers.find(container => container.name === name)
      if (ended !== undefined && !this.#backOffs.has(name))
        this.#backOffs.set(name, { detail: name, startedMs: ended.finishedMs })
      if (target === undefined || ended === undefined || this.#backOffRecorded.get(name) === ended.id)
        continue
      this.#backOffRecorded.set(name, ended.id)
      const message = `Back-off restarting failed container ${name} in pod ${formatPod(pod)}`
      const fieldPath = fieldPathOf(target)
      dependencies.recorder.record(pod, { type: 'Warning', reason: 'BackOff', message, fieldPath })
    }
  }

  async #start(action: StartAction): Promise<void> {
    const { context, signal } = this.#options
    const { name, attempt, restart } = action
    if (restart) this.restarts.set(name, restart)
    const beganMs = context.dependencies.platform.clock.now()
    try {
      await this.#perform(action)
      this.#endBackOff(name, beganMs)
      this.failures.delete(name)
      this.retryAtMs.delete(name)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof StartError)) throw error
      const { reason, message, containerId } = error
      this.#countFailure(name, reason)
      const before = this.failures.get(name)
      // With the same failure as before the status stays as it is, and the back-off goes on.
      if (before?.reason !== reason || before.message !== message) {
        this.#endBackOff(name, beganMs)
        this.#beginBackOff(name, error)
      }
      this.failures.set(name, { reason, message })
      const pullRetryAtMs = context.dependencies.platform.clock.now() + pullRetryMs
      this.retryAtMs.set(name, reason === 'ErrImagePull' ? pullRetryAtMs : context.retryTimeMs())
      if (containerId !== undefined) this.toKill.set(containerId, 'FailedPostStartHook')
      context.log('Failed to start container', { container: name, attempt, reason, message })
    }
  }

  #beginBackOff(name: string, { cause }: StartError): void {
    const { dependencies, pod } = this.#options.context
    const image = cause instanceof ImageError ? findContainer(pod(), name)?.container.image : undefined
    this.#backOffs.set(name, { detail: image ?? name, startedMs: dependencies.platform.clock.now() })
  }

  #endBackOff(name: string, endedMs: number): void {
    const backOff = this.#backOffs.get(name)
    if (backOff === undefined) return
    this.#backOffs.delete(name)
    const durationMs = endedMs - backOff.startedMs
    this.#options.context.steps.addWait({ name: 'back-off', ...backOff, durationMs })
  }

  #countFailure(name: string, reason: string): void {
    const { dependencies, pod } = this.#options.context
    const target = findContainer(pod(), name)
    if (target === undefined) return
    dependencies.metrics.starts.startedContainerErrors.with(containerTypes[target.kind], reason).add()
  }

  async #perform({ name, attempt }: StartAction): Promise<void> {
    const { context, volumes: state, signal } = this.#options
    const { dependencies } = context
    const [pod, observed, volumes] = [context.pod(), context.observed(), state.ready]
    const target = findContainer(pod, name)
    const sandbox = usableSandbox(pod, observed)
    // The state has changed since planning; the next sync plans again.
    if (target === undefined || sandbox === undefined || volumes === undefined) return
    dependencies.metrics.starts.startedContainers.with(containerTypes[target.kind]).add()
    const image = this.image(name)
    const { protectPod } = dependencies
    if (!pod.spec?.hostNetwork && protectPod) {
      const protect = (): Promise<void> => abortable(protectPod(pod, sandbox.addresses, signal), signal)
      await context.steps.runBrief('network-policy', name, protect)
    }
    this.#images.delete(name)
    const targetContainer = pod.spec?.ephemeralContainers?.find(
      each => each.name === name,
    )?.targetContainerName
    await startContainer(dependencies, {
      pod,
      target,
      attempt,
      sandbox,
      addresses: pod.spec?.hostNetwork ? dependencies.node.addresses : sandbox.addresses,
      volumes,
      image,
      steps: context.steps,
      onCreated: id => void this.actuatedResources.set(id, target.container.resources ?? {}),
      ...(targetContainer && {
        targetContainer: { name: targetContainer, id: latestInSandbox(observed, targetContainer)?.id },
      }),
      signal,
    })
  }
}

/** The wait for the next attempt to start a container. */
interface BackOff {
  /** The container, or the image that it lacks. */
  readonly detail: string
  readonly startedMs: number
}

const containerTypes: Readonly<Record<ContainerKind, ContainerType>> = {
  regular: 'container',
  init: 'init_container',
  ephemeral: 'ephemeral_container',
}
