/**
 * Tells the API server what became of pods, and removes those that are gone from the node. Only what changed is sent,
 * and of several changes in short order only the last; what people wait for goes at once. Nothing is lost: what could
 * not be written is written later, as it is then.
 */
import { isApiError } from '#/api/errors.ts'
import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import { isUrgent, statusPatch } from './status-writer/status-patch.ts'

export interface StatusWriterOptions {
  readonly platform: Platform
  readonly client: Client
  /** Follows the pods of the node. */
  readonly informer: Informer<Pod>
}

interface Entry {
  /** The object whose status it is: of a static pod its mirror. */
  readonly target: Pod
  readonly status: PodStatus
  /** The pod goes from the API when its last status is there. */
  readonly isFinished: boolean
  /** What the server answered last, and what it was asked for. */
  readonly written?: { readonly pod: Pod; readonly status: PodStatus }
}

/** How long a change may wait for another that nobody is in a hurry for. */
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
    this.#queue = new WorkQueue({ platform, name: 'statuses of pods', retryMs, retryRate })
  }

  async run(signal: AbortSignal): Promise<void> {
    const work = (uid: string): Promise<void> => this.#write(uid, signal)
    await this.#queue.run({ workers: writersMax, signal, reconcile: work })
  }

  /**
   * `uid` is that of the pod on the node, `target` the object in the API. A status that is `passing` will soon be
   * another one, and is only written when that takes longer than expected.
   */
  set(uid: string, target: Pod, status: PodStatus, isPassing = false): void {
    const before = this.#entries.get(uid)
    const written = before?.target.metadata?.uid === target.metadata?.uid ? before?.written : undefined
    const entry = { target, status, isFinished: before?.isFinished ?? false, ...(written && { written }) }
    this.#entries.set(uid, entry)
    const now = this.#current(entry)
    if (statusPatch(now.status ?? {}, status) === undefined) return
    if (!isPassing && isUrgent(now.status ?? {}, status)) this.#queue.add(uid)
    else this.#queue.addAfter(uid, lazyMs)
  }

  /** Nothing of the pod is left on the node: once its last status is written it is deleted. */
  finish(uid: string, target: Pod, status: PodStatus): void {
    this.set(uid, target, status)
    const entry = this.#entries.get(uid)
    if (entry !== undefined) this.#entries.set(uid, { ...entry, isFinished: true })
    this.#queue.add(uid)
  }

  /** The pod is gone from the API. */
  forget(uid: string): void {
    this.#entries.delete(uid)
    this.#queue.forget(uid)
  }

  /** The newest version of the object that is known: what was written may not have come back yet. */
  #current({ target, written }: Entry): Pod {
    const { informer } = this.#options
    const followed = informer.get(keyOf(target))
    const isSeen = followed?.metadata?.uid === target.metadata?.uid
    const version = written?.pod.metadata?.resourceVersion
    if (written !== undefined && version !== undefined && !informer.isCurrent(version)) return written.pod
    return isSeen && followed !== undefined ? followed : (written?.pod ?? target)
  }

  async #write(uid: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uid)
    if (entry === undefined) return
    const { name = '', namespace, uid: apiUid = '' } = entry.target.metadata ?? {}
    try {
      await this.#patch(uid, entry, signal)
      if (!this.#entries.get(uid)?.isFinished) return
      const options = { gracePeriodSeconds: 0, preconditions: { uid: apiUid }, signal }
      await this.#options.client.delete(pods, { namespace, name }, options)
      this.#options.platform.log.info('pod is gone from the node', { namespace, pod: name, uid })
    } catch (error) {
      const known = this.#options.informer.get(keyOf(entry.target))
      // It is gone, or another one has its name by now.
      const isOther = isApiError(error, 'Conflict') && known?.metadata?.uid !== apiUid
      if (!isOther && !isApiError(error, 'NotFound')) throw error
    }
  }

  async #patch(uid: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const { client, platform } = this.#options
    const current = this.#current(entry)
    const { target, status, written } = entry
    const patch = statusPatch(current.status ?? {}, status)
    // What the server makes of a status may differ from what was sent: the same is not sent twice.
    const isRepeated = current === written?.pod && equalJson(written.status, status)
    if (patch === undefined || isRepeated) return
    const { name = '', namespace, uid: apiUid } = target.metadata ?? {}
    const at = { namespace, name, subresource: 'status' }
    const body = { metadata: { uid: apiUid }, status: patch }
    const pod = await client.patch(pods, at, { type: 'strategic', patch: body }, { signal })
    const { phase } = status
    platform.log.debug('status written', { namespace, pod: name, uid, phase, fields: Object.keys(patch) })
    const latest = this.#entries.get(uid)
    if (latest !== undefined) this.#entries.set(uid, { ...latest, written: { pod, status } })
  }
}

/** Failures come with a server that is away: all come back by their own backoff. */
const retryRate = { burst: 1_000, perSecond: 100 }
