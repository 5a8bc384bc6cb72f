/**
 * Writes pod statuses to the API server and deletes pods that are cleaned up. It patches only changed fields,
 * merges changes in quick succession, and writes changes of phase or readiness at once. Failed writes are
 * retried with the then latest status.
 */
import { isApiError, isStale } from '#/api/errors.ts'
import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { PodSteps } from './pod-steps.ts'
import { isUrgent, statusPatch } from './status-writer/status-patch.ts'

export interface StatusWriterOptions {
  readonly platform: Platform
  readonly client: Client
  /** Informer for the node's pods. */
  readonly informer: Informer<Pod>
  readonly metrics: KubeletMetrics
}

export interface StatusUpdate {
  /** The API object; the mirror for a static pod. */
  readonly target: Stored<Pod>
  readonly status: PodStatus
  /** The status will change soon and is written only if that takes longer than expected. */
  readonly isTransient?: boolean
  /** The write carries them as its pass. */
  readonly steps?: Pick<PodSteps, 'begin' | 'end'>
}

interface Entry {
  readonly target: Stored<Pod>
  readonly status: PodStatus
  /** The pod is deleted from the API after its last status is written. */
  readonly isFinished: boolean
  readonly steps?: StatusUpdate['steps']
  /** When the status was set, on the monotonic clock. */
  readonly setMs: number
  /** Wall time of the first change that is not written. */
  readonly changedMs?: number | undefined
  /** Last response of the API server, and the status sent. */
  readonly written?: { readonly pod: Stored<Pod>; readonly status: PodStatus }
}

/** Debounce of changes that are not urgent. */
const lazyMs = 500

const writersMax = 8
const retryMs = { first: 200, max: 30_000 }

export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #queue: WorkQueue
  readonly #entries = new Map<string, Entry>()

  constructor(options: StatusWriterOptions) {
    this.#options = options
    const { platform } = options
    this.#queue = new WorkQueue({ platform, name: 'pod-status', retryMs, retryRate })
  }

  async run(signal: AbortSignal): Promise<void> {
    const work = (uid: string): Promise<void> => this.#write(uid, signal)
    await this.#queue.run({ workers: writersMax, signal, reconcile: work })
  }

  /**
   * `uid` is the UID on the node, which for a static pod is not that of the mirror. False if the
   * status is written.
   */
  set(uid: string, { target, status, isTransient = false, steps }: StatusUpdate): boolean {
    const before = this.#entries.get(uid)
    const written = before?.target.metadata.uid === target.metadata.uid ? before?.written : undefined
    const setMs = before?.status === status ? before.setMs : this.#options.platform.clock.monotonicMs()
    const isFinished = before?.isFinished ?? false
    const entry = { target, status, isFinished, setMs, ...(written && { written }), ...(steps && { steps }) }
    const now = this.#current(entry)
    const isChanged = statusPatch(now.status ?? {}, status) !== undefined
    const changedMs = isChanged ? (before?.changedMs ?? this.#options.platform.clock.now()) : undefined
    this.#entries.set(uid, { ...entry, changedMs })
    if (!isChanged) return isFinished
    if (!isTransient && isUrgent(now.status ?? {}, status)) this.#queue.add(uid)
    else this.#queue.addAfter(uid, lazyMs)
    // The stored status may differ from the one sent.
    return isFinished || written === undefined || !equalJson(written.status, status)
  }

  /** The pod is cleaned up on the node: deletes it from the API after the last status is written. */
  finish(uid: string, update: StatusUpdate): void {
    this.set(uid, update)
    const entry = this.#entries.get(uid)
    if (entry !== undefined) this.#entries.set(uid, { ...entry, isFinished: true })
    this.#queue.add(uid)
  }

  /** The pod was deleted from the API. */
  forget(uid: string): void {
    this.#entries.delete(uid)
    this.#queue.forget(uid)
  }

  /** Latest known version of the object: the informer may not have received our last write yet. */
  #current({ target, written }: Entry): Stored<Pod> {
    const { informer } = this.#options
    const followed = informer.get(keyOf(target))
    const isSeen = followed?.metadata.uid === target.metadata.uid
    if (written !== undefined && !informer.isCurrent(written.pod.metadata.resourceVersion)) return written.pod
    return isSeen && followed !== undefined ? followed : (written?.pod ?? target)
  }

  async #write(uid: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uid)
    if (entry === undefined) return
    const { name, namespace, uid: apiUid } = entry.target.metadata
    try {
      await this.#patch(uid, entry, signal)
      if (!this.#entries.get(uid)?.isFinished) return
      const pass = entry.steps?.begin(keyOf(entry.target))
      const options = { gracePeriodSeconds: 0, preconditions: { uid: apiUid }, signal, pass }
      await this.#options.client.delete(pods, { namespace, name }, options)
      this.#options.platform.log.info('Pod fully terminated and removed from etcd', {
        namespace,
        pod: name,
        uid,
      })
    } catch (error) {
      const known = this.#options.informer.get(keyOf(entry.target))
      // The pod was deleted, or a different pod has its name now.
      const isOther = isStale(error) && known?.metadata.uid !== apiUid
      if (!isOther && !isApiError(error, 'NotFound')) throw error
    }
  }

  async #patch(uid: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const { client, platform, metrics } = this.#options
    const current = this.#current(entry)
    const { target, status, written } = entry
    const patch = statusPatch(current.status ?? {}, status)
    // The stored status may differ from the one sent; the same status is not sent again.
    const isRepeated = current === written?.pod && equalJson(written.status, status)
    if (patch === undefined || isRepeated) return this.#endChange(uid, status)
    const { name, namespace, uid: apiUid } = target.metadata
    const at = { namespace, name, subresource: 'status' }
    const body = { metadata: { uid: apiUid }, status: patch }
    const sentMs = platform.clock.now()
    const { changedMs = sentMs } = entry
    const wait = { name: 'status', startedMs: changedMs, durationMs: sentMs - changedMs }
    const pass = entry.steps?.begin(keyOf(target), wait)
    const pod = await client.patch(pods, at, { type: 'strategic', patch: body }, { signal, pass })
    // A patch without effect leaves the steps to the next write.
    if (pod.metadata.resourceVersion !== current.metadata.resourceVersion) entry.steps?.end()
    metrics.pods.statusSyncDuration.observe((platform.clock.monotonicMs() - entry.setMs) / 1_000)
    const { phase } = status
    platform.log.debug('Patch status for pod', {
      namespace,
      pod: name,
      uid,
      phase,
      fields: Object.keys(patch),
    })
    const latest = this.#entries.get(uid)
    if (latest === undefined) return
    const isLatest = latest.status === status
    this.#entries.set(uid, { ...latest, changedMs: isLatest ? undefined : sentMs, written: { pod, status } })
  }

  /** The API server has this status. */
  #endChange(uid: string, status: PodStatus): void {
    const latest = this.#entries.get(uid)
    if (latest?.status === status) this.#entries.set(uid, { ...latest, changedMs: undefined })
  }
}

/** High limit: failures usually mean that the API server is unavailable, and each pod has its own backoff. */
const retryRate = { burst: 1_000, perSecond: 100 }
