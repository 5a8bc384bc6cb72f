import { GrpcError, type GrpcChannel } from '#/platform/grpc.ts'
import type { Clock } from '#/platform/platform.ts'
import type { ContainerStatus } from '../cri.ts'
import { Envelope, TaskDelete, TaskExit, type Timestamp } from './event-messages.ts'
import { subscribe } from './event-sources.ts'

export interface TaskExitsOptions {
  readonly clock: Clock
  /** Makes a channel to containerd: one that failed waits before it connects again, a new one does not. */
  readonly connect: () => GrpcChannel
}

/** How the main process of a container ended, as its shim reports it. */
interface Exit {
  readonly exitCode: number
  /** In nanoseconds since 1970. */
  readonly finishedAt: bigint
}

/**
 * The exit codes that the CRI of containerd has lost. From 1.7 on, a containerd that starts deletes the tasks that
 * exited while it was away before its CRI plugin has read their exit codes. CRI then reports exit code 255 and reason
 * `Unknown`, also for a container that succeeded. The shim of the pod knows the code and sends it with the events of
 * the exit and of the deletion. It sends an event again, first after a second, while containerd does not take it; so a
 * client that subscribes soon after the start receives it. The code is lost when the shim has exited too.
 */
export class TaskExits {
  readonly #options: TaskExitsOptions
  /** By the ids of containers; the latest last. */
  readonly #exits = new Map<string, Exit>()
  readonly #waiting = new Set<() => void>()
  #followers = 0
  #isSupported = true

  constructor(options: TaskExitsOptions) {
    this.#options = options
  }

  async follow(signal: AbortSignal): Promise<void> {
    this.#followers++
    while (!signal.aborted) {
      await this.#followOnce(signal)
      const delayMs = this.#isSupported ? reconnectMs : unsupportedMs
      await this.#options.clock.sleep(delayMs, signal).catch(() => undefined)
    }
    this.#followers--
  }

  /** The exit of a container whose exit code CRI has lost; undefined when no event reports it in time. */
  async find(status: LostExit, options: FindOptions): Promise<Exit | undefined> {
    const { clock } = this.#options
    const elapsedMs = clock.now() - Number(status.finishedAt / 1_000_000n)
    const waitMs = Math.min(eventMsMax, eventMsMax - elapsedMs, options.timeoutMs ?? Infinity)
    if (!this.#exits.has(status.id) && waitMs > 0 && this.#followers > 0 && this.#isSupported) {
      if (await options.isShimAlive()) await this.#wait(status.id, waitMs, options.signal)
    }
    return this.#exits.get(status.id)
  }

  async #wait(id: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const found = new AbortController()
    const look = (): void => {
      if (this.#exits.has(id)) found.abort()
    }
    this.#waiting.add(look)
    look()
    const either = AbortSignal.any(signal ? [signal, found.signal] : [found.signal])
    await this.#options.clock.sleep(timeoutMs, either).catch(() => undefined)
    this.#waiting.delete(look)
    signal?.throwIfAborted()
  }

  async #followOnce(signal: AbortSignal): Promise<void> {
    await using channel = this.#options.connect()
    try {
      for await (const envelope of subscribe(channel, [exitTopic, deleteTopic], signal)) {
        this.#isSupported = true
        const found = exitOf(envelope)
        if (found) this.#add(found)
      }
    } catch (error) {
      if (error instanceof GrpcError && error.code === 'unimplemented') this.#isSupported = false
    }
  }

  #add({ id, ...exit }: Exit & { readonly id: string }): void {
    this.#exits.delete(id)
    this.#exits.set(id, exit)
    const [oldest] = this.#exits.keys()
    if (this.#exits.size > exitsMax) this.#exits.delete(oldest!)
    for (const look of this.#waiting) look()
  }
}

interface FindOptions {
  /** Without its shim no event comes. */
  readonly isShimAlive: () => Promise<boolean>
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

type LostExit = Pick<ContainerStatus, 'id' | 'finishedAt'>

/** CRI does not know the exit code; it may know that memory ran out, from another event. */
export function isExitLost({ state, exitCode, reason }: ContainerStatus): boolean {
  return (
    state === 'exited' && exitCode === unknownExitCode && (reason === 'Unknown' || reason === 'OOMKilled')
  )
}

/** With the reasons that CRI reports. */
export function withExit(status: ContainerStatus, { exitCode, finishedAt }: Exit): ContainerStatus {
  const usual = exitCode === 0 ? 'Completed' : 'Error'
  return { ...status, exitCode, finishedAt, reason: status.reason === 'Unknown' ? usual : status.reason }
}

/** Undefined for commands that were run in a container. */
export function exitOf(envelope: Uint8Array): (Exit & { readonly id: string }) | undefined {
  const { topic, event } = Envelope.decode(envelope)
  const type = topic === exitTopic ? TaskExit : topic === deleteTopic ? TaskDelete : undefined
  if (type === undefined || event === undefined) return undefined
  const { containerId, id, exitStatus, exitedAt } = type.decode(event.value)
  if (id !== '' && id !== containerId) return undefined
  return { id: containerId, exitCode: exitStatus, finishedAt: nanosecondsOf(exitedAt) }
}

function nanosecondsOf({ seconds, nanos }: Timestamp = { seconds: 0, nanos: 0 }): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanos)
}

const exitTopic = '/tasks/exit'
const deleteTopic = '/tasks/delete'

const unknownExitCode = 255

/** Much less than the second after which a shim sends an event again. */
const reconnectMs = 50

/** Interval of attempts where the runtime is not containerd: another one may be started on the socket. */
const unsupportedMs = 60_000

/** Time after a start of containerd in which shims send their events again; they pause five seconds at most. */
const eventMsMax = 6_000

/** Exits remembered; past that the oldest are dropped, whose containers CRI has usually reported already. */
const exitsMax = 1_000
