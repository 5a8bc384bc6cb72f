/**
 * Detects pod sandboxes whose shim does not answer, and recovers them: the shim and the processes of the pod are
 * killed, so that the runtime reports the containers as exited and the pod is restarted or removed as usual. The
 * runtime itself only waits for the shim; hundreds of concurrent execs, for example, deadlock shims of containerd 1.6.
 *
 * A call about a container that takes long is no sign by itself, since commands and grace periods may be long. It
 * causes a check: the statistics of the pod's containers come from the shim and need no time.
 */
import type { EventContent } from '#/client/event-recorder.ts'
import type {
  ContainerRuntime,
  ContainerSummary,
  CreateContainer,
  ExecSyncRequest,
  SandboxMetadata,
  SandboxSummary,
} from '#/cri/cri.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import type { KubeletPod } from './kubelet-pod.ts'

export interface UnresponsiveSandboxesOptions {
  readonly platform: Platform
  readonly runtime: ContainerRuntime
  readonly node: Pick<KubeletConfiguration, 'runtimeRequestTimeoutMs'>
  readonly cgroups: { killProcesses(uid: string): Promise<void> }
  readonly recorder: { record(about: KubeletPod, content: EventContent): void }
  /** Undefined if the pod is no longer known. */
  readonly pod: (uid: string) => KubeletPod | undefined
}

/** A pending call and an open session cause a check after each such period. */
const checkPeriodMsMax = 15_000

/** Time for an answer to a check; two in a row are needed, since this process may have been stopped during one. */
const checkTimeoutMsMax = 15_000
const checkTries = 2

export class UnresponsiveSandboxes {
  readonly #options: UnresponsiveSandboxesOptions
  /** Checks in progress, by sandbox id. */
  readonly #checks = new Map<string, Promise<boolean>>()
  /** A list in progress; checks share it, since there may be many while the runtime does not answer. */
  #listing: Promise<RuntimeList> | undefined

  constructor(options: UnresponsiveSandboxesOptions) {
    this.#options = options
  }

  /**
   * Checks the sandbox with this id, of the container with this id, or of the pod with this UID. Resolves with false
   * if it did not respond, and begins to kill it then. Never rejects.
   */
  async check(id: string): Promise<boolean> {
    const sandbox = await this.#find(id).catch(() => undefined)
    if (sandbox === undefined) return true
    const known = this.#checks.get(sandbox.id)
    if (known !== undefined) return known
    const checking = this.#checkAndKill(sandbox).finally(() => this.#checks.delete(sandbox.id))
    this.#checks.set(sandbox.id, checking)
    return checking
  }

  /**
   * Kills the shim of a sandbox, and the processes of its pod unless they are those of another sandbox. Failures are
   * only logged.
   */
  async kill({ id, metadata: { uid, namespace, name } }: KilledSandbox): Promise<void> {
    const { platform, runtime, cgroups, recorder } = this.#options
    const pod = this.#options.pod(uid)
    const fields = { namespace, pod: name, uid, sandbox: id }
    platform.log.warn('Pod sandbox does not respond, killing its shim and containers', fields)
    if (pod !== undefined) {
      const message = `The shim of pod sandbox ${id} does not respond, it will be killed with its containers.`
      recorder.record(pod, { type: 'Warning', reason: 'SandboxNotResponding', message })
    }
    const onError = (error: unknown): void =>
      platform.log.warn('Failed to kill pod sandbox', { ...fields, error })
    await runtime.killShim(id).catch(onError)
    try {
      const { sandboxes } = await this.#list()
      const isReplaced = sandboxes.some(
        other => other.id !== id && other.metadata.uid === uid && other.state === 'ready',
      )
      // containerd 2 leaves the containers of a killed shim running.
      if (!isReplaced) await cgroups.killProcesses(uid)
    } catch (error) {
      onError(error)
    }
  }

  async #find(id: string): Promise<SandboxSummary | undefined> {
    const { sandboxes, containers } = await this.#list()
    const sandboxId = containers.find(container => container.id === id)?.sandboxId ?? id
    return sandboxes.find(({ id: own, metadata: { uid }, state }) => {
      return own === sandboxId || (uid === id && state === 'ready')
    })
  }

  #list(): Promise<RuntimeList> {
    const { runtime } = this.#options
    this.#listing ??= Promise.all([runtime.listPodSandbox(), runtime.listContainers()])
      .then(([sandboxes, containers]) => ({ sandboxes, containers }))
      .finally(() => {
        this.#listing = undefined
      })
    return this.#listing
  }

  async #checkAndKill(sandbox: SandboxSummary): Promise<boolean> {
    for (let tries = 1; tries <= checkTries; tries++) {
      if (await this.#responds(sandbox.metadata.uid)) return true
    }
    // While the runtime answers nothing at all, the shim is not to blame.
    const isRuntimeDown = await this.#options.runtime.version().then(
      () => false,
      () => true,
    )
    if (isRuntimeDown) return true
    // Not awaited, so that sessions end with this reason and not with the error that the kill causes.
    void this.kill(sandbox)
    return false
  }

  /** Any answer in time counts, also an error. */
  async #responds(uid: string): Promise<boolean> {
    const { platform, runtime, node } = this.#options
    // Shorter than the deadline of the call, at which containerd answers with what it has.
    const timeoutMs = Math.min(checkTimeoutMsMax, node.runtimeRequestTimeoutMs / 2)
    const late = new AbortController()
    const timer = platform.clock.setTimer(timeoutMs, () => late.abort())
    try {
      await runtime.listContainerStats({ podUid: uid }, { signal: late.signal })
      return true
    } catch {
      return !late.signal.aborted
    } finally {
      timer.cancel()
    }
  }
}

interface RuntimeList {
  readonly sandboxes: readonly SandboxSummary[]
  readonly containers: readonly ContainerSummary[]
}

export interface KilledSandbox {
  readonly id: string
  /** Of the sandbox or of its pod. */
  readonly metadata: Pick<SandboxMetadata, 'uid' | 'namespace' | 'name'>
}

/** Period of checks while a call is pending or a session is open. */
export function sandboxCheckPeriodMs({
  runtimeRequestTimeoutMs,
}: Pick<KubeletConfiguration, 'runtimeRequestTimeoutMs'>): number {
  return Math.min(checkPeriodMsMax, runtimeRequestTimeoutMs)
}

/**
 * The runtime, with calls that need a shim reported after each check period that they are pending: with the id of the
 * container or sandbox.
 */
export function reportPendingCalls(
  { runtime, platform, node }: Pick<UnresponsiveSandboxesOptions, 'runtime' | 'platform' | 'node'>,
  onPending: (id: string) => void,
): ContainerRuntime {
  const report = { clock: platform.clock, periodMs: sandboxCheckPeriodMs(node), onPending }
  return new Proxy(runtime, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name, own)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        const answer: unknown = Reflect.apply(value, own, parameters)
        if (!shimCalls.has(name)) return answer
        return reported(answer as Promise<unknown>, idOf(parameters[0] as ShimCallTarget), report)
      }
    },
  })
}

interface PendingCallReport {
  readonly clock: Clock
  readonly periodMs: number
  readonly onPending: (id: string) => void
}

async function reported<T>(
  answer: Promise<T>,
  id: string,
  { clock, periodMs, onPending }: PendingCallReport,
): Promise<T> {
  const report = (): void => {
    timer = clock.setTimer(periodMs, report)
    onPending(id)
  }
  let timer = clock.setTimer(periodMs, report)
  try {
    return await answer
  } finally {
    timer.cancel()
  }
}

/** Calls that the runtime answers only after its shim has. */
const shimCalls: ReadonlySet<string | symbol> = new Set<keyof ContainerRuntime>([
  'stopPodSandbox',
  'removePodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'updateContainerResources',
  'execSync',
])

/** The first parameter of these calls. */
type ShimCallTarget = string | Pick<CreateContainer, 'sandboxId'> | Pick<ExecSyncRequest, 'containerId'>

function idOf(target: ShimCallTarget): string {
  if (typeof target === 'string') return target
  return 'sandboxId' in target ? target.sandboxId : target.containerId
}
