import type {
  ContainerRuntime,
  ContainerState,
  ContainerStatus,
  ContainerSummary,
  SandboxSummary,
} from '#/cri/cri.ts'
import { CriError } from '#/cri/cri.ts'
import type { Clock } from '#/platform/platform.ts'
import { containerOfAnnotations } from '../container-labels.ts'
import type { KubeletMetrics } from '../kubelet-metrics.ts'
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../observed-pod.ts'

export interface PodObserverOptions {
  readonly runtime: ContainerRuntime
  readonly uid: string
  readonly clock: Clock
  readonly metrics: KubeletMetrics
  /** Reads the termination message of an exited container. */
  readonly terminationMessage: (container: ContainerStatus) => Promise<string>
}

/**
 * Observes one pod in the runtime. Lists are read each time; further details of a container are cached while
 * its state is unchanged.
 */
export class PodObserver {
  readonly #options: PodObserverOptions
  readonly #known = new Map<string, ObservedContainer>()
  readonly #addresses = new Map<string, readonly string[]>()

  constructor(options: PodObserverOptions) {
    this.#options = options
  }

  async observe(signal: AbortSignal): Promise<ObservedPod> {
    const { clock } = this.#options
    const { relistDuration, relistInterval, relistLastSeen } = this.#options.metrics.node
    const [beganMs, nowSeconds] = [clock.monotonicMs(), clock.now() / 1_000]
    const lastSeen = relistLastSeen.with()
    if (lastSeen.value > 0) relistInterval.observe(Math.max(0, nowSeconds - lastSeen.value))
    lastSeen.value = nowSeconds
    try {
      return await this.#observe(signal)
    } finally {
      relistDuration.observe((clock.monotonicMs() - beganMs) / 1_000)
    }
  }

  async #observe(signal: AbortSignal): Promise<ObservedPod> {
    const { runtime, uid } = this.#options
    const [listed, summaries] = await Promise.all([
      runtime.listPodSandbox({ podUid: uid }, { signal }),
      runtime.listContainers({ podUid: uid }, { signal }),
    ])
    const newestSandboxes = listed.toSorted((a, b) => newestFirst(attemptOf(a), attemptOf(b)))
    const [sandboxes, containers] = await Promise.all([
      Promise.all(newestSandboxes.map(sandbox => this.#sandbox(sandbox, signal))),
      Promise.all(summaries.toSorted(newestFirst).map(summary => this.#container(summary, signal))),
    ])
    keepOnly(this.#known, summaries)
    keepOnly(this.#addresses, listed)
    return {
      sandboxes: sandboxes.filter(sandbox => sandbox !== undefined),
      containers: containers.filter(container => container !== undefined),
    }
  }

  async #sandbox(summary: SandboxSummary, signal: AbortSignal): Promise<ObservedSandbox | undefined> {
    const { id, metadata, state } = summary
    const isReady = state === 'ready'
    const known = this.#addresses.get(id)
    if (known !== undefined) return { id, attempt: metadata.attempt, isReady, addresses: known }
    const status = await unlessGone(this.#options.runtime.podSandboxStatus(id, { signal }))
    if (status === undefined) return undefined
    const { addresses } = status
    if (addresses.length > 0 || !isReady) this.#addresses.set(id, addresses)
    return { id, attempt: metadata.attempt, isReady: status.state === 'ready', addresses }
  }

  async #container(summary: ContainerSummary, signal: AbortSignal): Promise<ObservedContainer | undefined> {
    const { id, sandboxId } = summary
    const known = this.#known.get(id)
    if (known?.state === summary.state) return known
    const status = await unlessGone(this.#options.runtime.containerStatus(id, { signal }))
    if (status === undefined) return undefined
    const message = status.state === 'exited' ? await this.#options.terminationMessage(status) : ''
    const observed = observedContainer(sandboxId, status, message)
    if (cachedStates.has(status.state)) this.#known.set(id, observed)
    return observed
  }
}

const cachedStates: ReadonlySet<ContainerState> = new Set(['running', 'exited'])

function observedContainer(sandboxId: string, status: ContainerStatus, message: string): ObservedContainer {
  const { id, name, state, exitCode, reason, userImage, imageRef, resources, user } = status
  const { hash, restartCount } = containerOfAnnotations(status.annotations)
  return {
    id,
    sandboxId,
    name,
    attempt: Math.max(status.attempt, restartCount),
    state,
    hash,
    startedMs: toMs(status.startedAt),
    finishedMs: toMs(status.finishedAt),
    exitCode,
    reason,
    message: [status.message, message].filter(text => text !== '').join(': '),
    image: userImage,
    imageRef,
    ...(resources && { resources }),
    ...(user && { user }),
  }
}

function toMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n)
}

interface Attempt {
  readonly attempt: number
  readonly createdAt: bigint
}

function attemptOf({ metadata: { attempt }, createdAt }: SandboxSummary): Attempt {
  return { attempt, createdAt }
}

/**
 * Attempts are counted per pod, or per container name. The time decides only between equal ones: the clock of the
 * node may have jumped back between two attempts.
 */
function newestFirst(a: Attempt, b: Attempt): number {
  if (a.attempt !== b.attempt) return b.attempt - a.attempt
  return a.createdAt > b.createdAt ? -1 : a.createdAt < b.createdAt ? 1 : 0
}

/** An object may be removed between list and status. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CriError && error.reason === 'not-found') return undefined
    throw error
  }
}

function keepOnly(known: Map<string, unknown>, listed: readonly { readonly id: string }[]): void {
  if (known.size <= listed.length) return
  const ids = new Set(listed.map(({ id }) => id))
  for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
}
