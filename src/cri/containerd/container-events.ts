import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { GrpcError, type GrpcChannel } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  CriError,
  type ContainerRuntime,
  type RuntimeVersion,
  type ContainerSummary,
  type SandboxSummary,
} from '../cri.ts'
import { podUidLabel } from './common-messages.ts'
import { eventSourcesOf, type EventSource, type RuntimeEvent } from './event-sources.ts'
import { ChangedPodQueue } from './changed-pod-queue.ts'
import type { TaskExits } from './task-exits.ts'

interface Followed {
  readonly platform: Platform
  readonly channel: GrpcChannel
  readonly runtime: ContainerRuntime
  /** Followed as long as changes are. */
  readonly taskExits: TaskExits
}

/**
 * Yields the UIDs of pods to sync. Events from the best source of the runtime report changes quickly;
 * periodic relisting makes sure that none is missed, more often when the runtime has no events.
 */
export async function* followContainerEvents(
  followed: Followed,
  signal: AbortSignal,
): AsyncGenerator<string | undefined, void, undefined> {
  const end = new AbortController()
  const ended = AbortSignal.any([signal, end.signal])
  const follower = new ContainerEventFollower(followed, ended)
  const work = Promise.allSettled([
    followed.taskExits.follow(ended),
    follower.followEvents(),
    follower.compareLists(),
  ])
  try {
    yield* follower.pending.take(ended)
  } finally {
    end.abort()
    await work
  }
}

class ContainerEventFollower {
  readonly pending = new ChangedPodQueue()
  readonly #followed: Followed
  readonly #signal: AbortSignal
  #hasEvents = false
  /** Pod UIDs by sandbox or container id, as of the last list. */
  #podOf = new Map<string, string>()
  readonly #settling = new Set<string>()

  constructor(followed: Followed, signal: AbortSignal) {
    this.#followed = followed
    this.#signal = signal
  }

  async followEvents(): Promise<void> {
    let failures = 0
    while (!this.#signal.aborted) {
      const version = await this.#version()
      if (version) {
        failures = 0
        await this.#followBestSource(version)
      }
      failures++
      await this.#sleep(this.#backoffMs(failures))
    }
  }

  /** Returns when the connection is lost, or after a while if the runtime has no event source. */
  async #followBestSource(version: RuntimeVersion): Promise<void> {
    for (const source of eventSourcesOf(version)) {
      if (await this.#followSource(source)) return
      if (this.#signal.aborted) return
    }
    this.pending.add(undefined)
    await this.#sleep(withoutEventsMs)
  }

  /** False if the runtime does not implement this source; true if it does and the stream has ended. */
  async #followSource(source: EventSource): Promise<boolean> {
    const { channel } = this.#followed
    let isConfirmed = false
    const confirm = async (): Promise<void> => {
      // An event stream is silent until the first event; a successful call after opening it confirms the
      // subscription.
      if (!(await this.#version())) return
      isConfirmed = true
      this.#hasEvents = true
      this.pending.add(undefined)
    }
    const confirming = confirm()
    try {
      for await (const event of source(channel, this.#signal)) this.#take(event)
      return true
    } catch (error) {
      return !(error instanceof GrpcError) || isGone(error)
    } finally {
      await confirming
      if (isConfirmed) this.#hasEvents = false
    }
  }

  #take(event: RuntimeEvent): void {
    const { containerId, podUid, type } = event
    const known = podUid ?? this.#podOf.get(containerId)
    // Events of a removed sandbox name no pod. The kubelet has removed it, and needs no event.
    if (type === 'deleted' && known === undefined) return
    if (type === 'settled' || type === 'deleted') return this.pending.add(known)
    const key = `${type} ${containerId}`
    if (this.#settling.has(key)) return
    if (this.#settling.size >= settlingMax) return this.pending.add(known)
    this.#settling.add(key)
    this.#settle(event)
      .then(uid => {
        const found = uid ?? known
        // A sandbox being created is not listed yet, and its creator waits for the result anyway.
        if (found !== undefined || type !== 'started') this.pending.add(found)
      })
      .catch(() => this.pending.add(known))
      .finally(() => this.#settling.delete(key))
  }

  /**
   * containerd publishes a task event before its CRI service has processed it. Polls until the CRI status
   * reflects the event, or for a bounded time. Resolves with the pod's UID if known.
   */
  async #settle({ containerId, type }: RuntimeEvent): Promise<string | undefined> {
    let uid: string | undefined
    for (const delayMs of settleDelaysMs) {
      const seen = await this.#look(containerId)
      if (seen === undefined) return uid
      uid = seen.podUid
      if (seen.shows(type)) return uid
      await this.#sleep(delayMs)
    }
    return uid
  }

  async #look(id: string): Promise<Seen | undefined> {
    const { runtime } = this.#followed
    const options = { signal: this.#signal, timeoutMs: lookTimeoutMs }
    try {
      const { state, reason, labels } = await runtime.containerStatus(id, options)
      const isEnded = state === 'exited' || state === 'unknown'
      const shows = (type: RuntimeEvent['type']): boolean => {
        if (type === 'exited') return isEnded
        if (type === 'out-of-memory') return isEnded && reason === 'OOMKilled'
        return state !== 'created'
      }
      return { podUid: labels[podUidLabel], shows }
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    try {
      const { state, metadata } = await runtime.podSandboxStatus(id, options)
      return { podUid: metadata.uid, shows: type => type !== 'exited' || state === 'not-ready' }
    } catch (error) {
      if (!isNotFound(error)) throw error
      return undefined
    }
  }

  async compareLists(): Promise<void> {
    let before: PodFingerprints | undefined
    while (!this.#signal.aborted) {
      const after = await this.#list()
      if (after !== undefined && before !== undefined)
        for (const uid of changedPods(before, after)) this.pending.add(uid || undefined)
      before = after ?? before
      await this.#sleep(this.#hasEvents ? besideEventsMs : insteadOfEventsMs)
    }
  }

  async #list(): Promise<PodFingerprints | undefined> {
    const { runtime } = this.#followed
    const options = { signal: this.#signal, timeoutMs: lookTimeoutMs }
    try {
      const [sandboxes, containers] = await Promise.all([
        runtime.listPodSandbox({}, options),
        runtime.listContainers({}, options),
      ])
      this.#podOf = new Map([
        ...sandboxes.map(({ id, metadata }) => [id, metadata.uid] as const),
        ...containers.map(({ id, labels }) => [id, labels[podUidLabel] ?? ''] as const),
      ])
      return podFingerprints(sandboxes, containers)
    } catch {
      return undefined
    }
  }

  /** Undefined when the runtime does not answer. */
  async #version(): Promise<RuntimeVersion | undefined> {
    return this.#followed.runtime.version(this.#signal).catch(() => undefined)
  }

  async #sleep(delayMs: number): Promise<void> {
    await this.#followed.platform.clock.sleep(delayMs, this.#signal).catch(() => undefined)
  }

  #backoffMs(failures: number): number {
    return backoffMs(failures, reconnecting, this.#followed.platform.random.fraction('cri-reconnect'))
  }
}

interface Seen {
  readonly podUid: string | undefined
  /** True if the CRI status reflects the event. */
  readonly shows: (type: RuntimeEvent['type']) => boolean
}

const reconnecting: Backoff = { initialMs: 100, maxMs: 2_000, factor: 2, jitter: 0.2 }

/** Relist periods with and without a working event source. */
const besideEventsMs = 10_000
const insteadOfEventsMs = 1_000

/** Period after which the event sources are probed again: the runtime may have been upgraded. */
const withoutEventsMs = 60_000

/** How long CRI may take to show what containerd tells already: some seconds when a shim was killed. */
const settleDelaysMs = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560]

/** Maximum number of events polled concurrently; further events are reported at once. */
const settlingMax = 200

const lookTimeoutMs = 10_000

/** True if the connection failed; false if the runtime does not implement the method. */
function isGone({ code }: GrpcError): boolean {
  return code === 'unavailable' || code === 'cancelled' || code === 'internal'
}

function isNotFound(error: unknown): boolean {
  return error instanceof CriError && error.reason === 'not-found'
}

/** Per pod UID, a string that changes whenever the state of a sandbox or container of the pod changes. */
type PodFingerprints = ReadonlyMap<string, string>

export function podFingerprints(
  sandboxes: readonly SandboxSummary[],
  containers: readonly ContainerSummary[],
): PodFingerprints {
  const parts = new Map<string, string[]>()
  const note = (uid: string, part: string): void => {
    const known = parts.get(uid)
    if (known) known.push(part)
    else parts.set(uid, [part])
  }
  for (const { id, metadata, state } of sandboxes) note(metadata.uid, `${id} ${state}`)
  for (const { id, labels, state } of containers) note(labels[podUidLabel] ?? '', `${id} ${state}`)
  return new Map([...parts].map(([uid, list]) => [uid, list.sort().join('\n')]))
}

/** Pods that were added, removed or changed. */
export function changedPods(before: PodFingerprints, after: PodFingerprints): string[] {
  const gone = [...before.keys()].filter(uid => !after.has(uid))
  const different = [...after].filter(([uid, print]) => before.get(uid) !== print).map(([uid]) => uid)
  return [...gone, ...different]
}
