import type { Pod } from '#/api/generated/core/v1.ts'
import type { PodParts } from '../pod-parts.ts'
import { VolumeError, volumeWaitMs, type PreparedVolume } from '../volumes.ts'

export interface VolumeStateOptions {
  readonly parts: PodParts
  readonly pod: () => Pod
  /** When aborted, no new work begins. */
  readonly signal: AbortSignal
}

/** Exponential backoff of failed mounts. */
const retryMs = { first: 500, max: 122_000 }

/** State of a pod's volumes: readiness, staleness and retries. */
export class VolumeState {
  readonly #options: VolumeStateOptions
  #ready: ReadonlyMap<string, PreparedVolume> | undefined
  #isStale = false
  #failures = 0
  #retryAtMs = 0
  /** Start of the current wait. */
  #sinceMs: number | undefined

  constructor(options: VolumeStateOptions) {
    this.#options = options
  }

  get ready(): ReadonlyMap<string, PreparedVolume> | undefined {
    return this.#ready
  }

  get retryAtMs(): number {
    return this.#retryAtMs
  }

  /** Time of the next retry or refresh. */
  get againAtMs(): number {
    const now = this.#now()
    const { parts, pod } = this.#options
    const refreshMs = this.#ready && parts.volumes.nextRefreshMs(pod())
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
    const { parts, pod, signal } = this.#options
    const { log } = parts.platform
    const { namespace, name, uid } = pod().metadata ?? {}
    this.#sinceMs ??= this.#now()
    try {
      this.#isStale = false
      this.#ready = await parts.volumes.prepare(pod(), signal)
      this.#failures = 0
      this.#sinceMs = undefined
      log.info('volumes are ready', { namespace, pod: name, uid, volumes: this.#ready.size })
    } catch (error) {
      if (signal.aborted) return
      this.#retryAtMs = this.#now() + Math.min(retryMs.max, retryMs.first * 2 ** this.#failures)
      this.#failures++
      this.#tell(error)
      log.info('volumes are not ready', { namespace, pod: name, uid, error })
    }
  }

  /** True if projected content is stale or a token is about to expire. */
  get isStale(): boolean {
    const { parts, pod, signal } = this.#options
    if (this.#ready === undefined || signal.aborted) return false
    return this.#isStale || (parts.volumes.nextRefreshMs(pod()) ?? Infinity) <= 0
  }

  async refresh(): Promise<void> {
    const { parts, pod, signal } = this.#options
    this.#isStale = false
    try {
      await parts.volumes.refresh(pod(), signal)
    } catch (error) {
      if (signal.aborted) return
      this.#isStale = true
      throw error
    }
  }

  /** Records mount events; after a while, also a summary of all missing volumes. */
  #tell(error: unknown): void {
    const { parts, pod } = this.#options
    const isKnown = error instanceof VolumeError
    const messages: string[] = isKnown ? [...error.events] : [String(error)]
    if (isKnown && this.#now() - (this.#sinceMs ?? 0) >= volumeWaitMs) {
      messages.push(error.summary)
      this.#sinceMs = this.#now()
    }
    for (const message of messages) {
      parts.recorder.record(pod(), { type: 'Warning', reason: 'FailedMount', message })
    }
  }

  #now(): number {
    return this.#options.parts.platform.clock.now()
  }
}
