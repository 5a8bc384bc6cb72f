import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodSteps } from '../pod-steps.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'
import { VolumeError, volumeWaitMs, type MountedVolume } from '../volumes.ts'

export interface VolumeStateOptions {
  readonly dependencies: PodWorkerDependencies
  readonly pod: () => KubeletPod
  readonly steps: PodSteps
  /** When aborted, no new work begins. */
  readonly signal: AbortSignal
}

/** Exponential backoff of failed mounts. */
const retryMs = { first: 500, max: 122_000 }

/** State of a pod's volumes: readiness, staleness and retries. */
export class VolumeState {
  readonly #options: VolumeStateOptions
  #ready: ReadonlyMap<string, MountedVolume> | undefined
  #isStale = false
  #failures = 0
  #retryAtMs = 0
  /** Start of the first attempt, while none has succeeded. */
  #beganMs: number | undefined
  /** Since when the summary of missing volumes is due to be recorded. */
  #sinceMs: number | undefined
  /** The volumes that the last failed attempt lacked. */
  #missing: readonly string[] = []

  constructor(options: VolumeStateOptions) {
    this.#options = options
  }

  get ready(): ReadonlyMap<string, MountedVolume> | undefined {
    return this.#ready
  }

  get retryAtMs(): number {
    return this.#retryAtMs
  }

  /** Time of the next retry or refresh. */
  get againAtMs(): number {
    const now = this.#now()
    const { dependencies, pod } = this.#options
    const refreshMs = this.#ready && dependencies.volumes.nextRefreshMs(pod())
    if (refreshMs !== undefined) return now + refreshMs
    return this.#retryAtMs > now ? this.#retryAtMs : Infinity
  }

  /** Marks the content as stale and allows an immediate retry. */
  expire(): void {
    this.#isStale = true
    this.#retryAtMs = 0
  }

  forget(): void {
    this.#ready = undefined
  }

  async prepare(): Promise<void> {
    const { dependencies, pod, signal } = this.#options
    const { log } = dependencies.platform
    const { namespace, name, uid } = pod().metadata
    this.#beganMs ??= this.#now()
    this.#sinceMs ??= this.#beganMs
    try {
      this.#isStale = false
      this.#ready = await dependencies.volumes.mount(pod(), signal)
      this.#addStep(this.#beganMs)
      this.#beganMs = undefined
      this.#failures = 0
      this.#sinceMs = undefined
      log.info('All volumes are attached and mounted for pod', {
        namespace,
        pod: name,
        uid,
        volumes: this.#ready.size,
      })
    } catch (error) {
      if (signal.aborted) return
      this.#retryAtMs = this.#now() + Math.min(retryMs.max, retryMs.first * 2 ** this.#failures)
      this.#failures++
      if (error instanceof VolumeError) this.#missing = error.volumes
      this.#recordEvents(error)
      log.info('Unable to attach or mount volumes for pod; skipping pod', {
        namespace,
        pod: name,
        uid,
        error,
      })
    }
  }

  /** True if projected content is stale or a token is about to expire. */
  get isStale(): boolean {
    const { dependencies, pod, signal } = this.#options
    if (this.#ready === undefined || signal.aborted) return false
    return this.#isStale || (dependencies.volumes.nextRefreshMs(pod()) ?? Infinity) <= 0
  }

  async refresh(): Promise<void> {
    const { dependencies, pod, signal } = this.#options
    this.#isStale = false
    try {
      await dependencies.volumes.refresh(pod(), signal)
    } catch (error) {
      if (signal.aborted) return
      this.#isStale = true
      throw error
    }
  }

  /** From the first attempt to the success, with what it waited for. */
  #addStep(startedMs: number): void {
    const detail = this.#missing.length > 0 ? this.#missing.join() : undefined
    this.#missing = []
    this.#options.steps.add({ name: 'volumes', detail, startedMs, durationMs: this.#now() - startedMs })
  }

  /** Records mount events; after a while, also a summary of all missing volumes. */
  #recordEvents(error: unknown): void {
    const { dependencies, pod } = this.#options
    const isKnown = error instanceof VolumeError
    const messages: string[] = isKnown ? [...error.events] : [String(error)]
    if (isKnown && this.#now() - (this.#sinceMs ?? 0) >= volumeWaitMs) {
      messages.push(error.summary)
      this.#sinceMs = this.#now()
    }
    for (const message of messages) {
      dependencies.recorder.record(pod(), { type: 'Warning', reason: 'FailedMount', message })
    }
  }

  #now(): number {
    return this.#options.dependencies.platform.clock.now()
  }
}
