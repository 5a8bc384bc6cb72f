/**
 * Client for any container runtime that implements CRI v1 over gRPC: containerd 1.6 or newer, CRI-O. It only
 * needs the socket path and does not start the runtime (`private-containerd.ts` does). It connects on the
 * first call and reconnects when the runtime restarts. It never retries a call: only the caller can tell
 * whether that is safe.
 */
import type { Duplex } from 'node:stream'
import type { GrpcChannel, GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import { followContainerEvents } from './containerd/container-events.ts'
import { podUidLabel } from './containerd/common-messages.ts'
import { containerRequest } from './containerd/container-request.ts'
import { CriChannel } from './containerd/cri-channel.ts'
import { methods } from './containerd/methods.ts'
import {
  containerStatsOf,
  containerStatusOf,
  containerSummaryOf,
  filesystemUsageOf,
  sandboxStatusOf,
  sandboxSummaryOf,
  imageOf,
  runtimeStatusOf,
} from './containerd/read-responses.ts'
import { resourcesRequest, sandboxRequest } from './containerd/sandbox-request.ts'
import { Streaming } from './containerd/streaming.ts'
import { isExitLost, TaskExits, withExit } from './containerd/task-exits.ts'
import {
  CriError,
  runtimeRequestTimeoutMs,
  type CallOptions,
  type ContainerRuntime,
  type ContainerStats,
  type ContainerStatus,
  type ContainerSummary,
  type CreateContainer,
  type ExecRequest,
  type ExecResult,
  type ExecSyncRequest,
  type FilesystemUsage,
  type Image,
  type LinuxResources,
  type RegistryAuth,
  type RuntimeStatus,
  type RuntimeVersion,
  type SandboxConfig,
  type SandboxStatus,
  type SandboxSummary,
} from './cri.ts'

export interface ContainerdOptions {
  readonly platform: Platform
  readonly connectGrpc: GrpcConnect
  /** Used for exec, attach and port-forward sessions. */
  readonly connectHttp: HttpConnect
  /** Path of the runtime's Unix socket. */
  readonly socketPath: string
  /**
   * Images that garbage collection must keep, for runtimes that do not report pinned images (containerd
   * before 1.7).
   */
  readonly pinnedImages?: readonly string[]
  /** Deadline of calls that have no other; see `runtimeRequestTimeoutMs`. */
  readonly requestTimeoutMs?: number
  /** Followed by its owner since the runtime was started; when absent, exits are followed only while changes are. */
  readonly taskExits?: TaskExits
  /** Kills the shim of a sandbox; when absent, shims are out of reach, as on another machine. */
  readonly killShim?: (sandboxId: string) => Promise<void>
}

interface PodFilter {
  readonly podUid?: string
}

export class Containerd implements ContainerRuntime {
  readonly #platform: Platform
  readonly #channel: GrpcChannel
  readonly #requestTimeoutMs: number
  readonly #cri: CriChannel
  readonly #taskExits: TaskExits
  readonly #streaming: Streaming
  readonly #pinnedImages: ReadonlySet<string>
  readonly #killShim: ContainerdOptions['killShim']

  private constructor({ platform, connectGrpc, connectHttp, ...options }: ContainerdOptions) {
    this.#platform = platform
    const connect = (): GrpcChannel =>
      connectGrpc({ targets: [`unix:${options.socketPath}`], receivedBytesMax })
    this.#channel = connect()
    this.#requestTimeoutMs = options.requestTimeoutMs ?? runtimeRequestTimeoutMs
    this.#cri = new CriChannel(this.#channel, this.#requestTimeoutMs)
    this.#taskExits = options.taskExits ?? new TaskExits({ clock: platform.clock, connect })
    this.#streaming = new Streaming(platform, connectHttp)
    this.#pinnedImages = new Set(options.pinnedImages)
    this.#killShim = options.killShim
  }

  static connect(options: ContainerdOptions): Containerd {
    return new Containerd(options)
  }

  async version(signal?: AbortSignal): Promise<RuntimeVersion> {
    const answer = await this.#cri.call(methods.version, { version: 'v1' }, quick(signal))
    return { name: answer.runtimeName, version: answer.runtimeVersion }
  }

  async status(signal?: AbortSignal): Promise<RuntimeStatus> {
    return runtimeStatusOf(await this.#cri.call(methods.status, {}, quick(signal)))
  }

  async runPodSandbox(config: SandboxConfig, options?: CallOptions): Promise<string> {
    const request = { config: sandboxRequest(config), runtimeHandler: config.runtimeHandler }
    // The pause image may have to be pulled first.
    const patient = { timeoutMs: 2 * this.#requestTimeoutMs, ...options }
    return (await this.#cri.call(methods.runPodSandbox, request, patient)).podSandboxId
  }

  async stopPodSandbox(id: string, options?: CallOptions): Promise<void> {
    await this.#cri.find(methods.stopPodSandbox, { podSandboxId: id }, options)
  }

  async removePodSandbox(id: string, options?: CallOptions): Promise<void> {
    await this.#cri.find(methods.removePodSandbox, { podSandboxId: id }, options)
  }

  async podSandboxStatus(id: string, options?: CallOptions): Promise<SandboxStatus> {
    const { status } = await this.#cri.call(methods.podSandboxStatus, { podSandboxId: id }, options)
    if (status === undefined) throw new CriError('not-found', `sandbox ${id} not found`)
    return sandboxStatusOf(status)
  }

  async listPodSandbox(filter?: PodFilter, options?: CallOptions): Promise<readonly SandboxSummary[]> {
    const { items } = await this.#cri.call(methods.listPodSandbox, { filter: labelsOf(filter) }, options)
    return items.map(sandboxSummaryOf)
  }

  async killShim(sandboxId: string): Promise<void> {
    if (this.#killShim === undefined) throw new CriError('unsupported', 'shims cannot be reached')
    await this.#killShim(sandboxId)
  }

  async createContainer(
    { sandboxId, sandbox, config }: CreateContainer,
    options?: CallOptions,
  ): Promise<string> {
    const request = {
      podSandboxId: sandboxId,
      config: containerRequest(config),
      sandboxConfig: sandboxRequest(sandbox),
    }
    return (await this.#cri.call(methods.createContainer, request, options)).containerId
  }

  async startContainer(id: string, options?: CallOptions): Promise<void> {
    await this.#cri.call(methods.startContainer, { containerId: id }, options)
  }

  async stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void> {
    const timeout = Math.max(0, Math.ceil(graceSeconds))
    const patient = { timeoutMs: timeout * 1_000 + this.#requestTimeoutMs, ...options }
    await this.#cri.find(methods.stopContainer, { containerId: id, timeout }, patient)
  }

  async removeContainer(id: string, options?: CallOptions): Promise<void> {
    await this.#cri.find(methods.removeContainer, { containerId: id }, options)
  }

  async containerStatus(id: string, options?: CallOptions): Promise<ContainerStatus> {
    const { status } = await this.#cri.call(methods.containerStatus, { containerId: id }, options)
    if (status === undefined) throw new CriError('not-found', `container ${id} not found`)
    const found = containerStatusOf(status)
    return isExitLost(found) ? this.#recoverExit(found, options) : found
  }

  async #recoverExit(status: ContainerStatus, options: CallOptions = {}): Promise<ContainerStatus> {
    const { id } = status
    const exit = await this.#taskExits.find(status, {
      isShimAlive: () => this.#isSandboxReady(id, options),
      ...options,
    })
    return exit ? withExit(status, exit) : status
  }

  /** The sandbox of this container; one shim holds both. */
  async #isSandboxReady(containerId: string, options: CallOptions): Promise<boolean> {
    const request = { filter: { id: containerId } }
    const { containers } = await this.#cri.call(methods.listContainers, request, options)
    const podSandboxId = containers[0]?.podSandboxId ?? ''
    const found = await this.#cri.find(methods.podSandboxStatus, { podSandboxId }, options)
    return found?.status !== undefined && sandboxStatusOf(found.status).state === 'ready'
  }

  async listContainers(filter?: PodFilter, options?: CallOptions): Promise<readonly ContainerSummary[]> {
    const answer = await this.#cri.call(methods.listContainers, { filter: labelsOf(filter) }, options)
    return answer.containers.map(containerSummaryOf)
  }

  async updateContainerResources(
    id: string,
    resources: LinuxResources,
    options?: CallOptions,
  ): Promise<void> {
    const request = { containerId: id, linux: resourcesRequest(resources) }
    await this.#cri.call(methods.updateContainerResources, request, options)
  }

  async reopenContainerLog(id: string, options?: CallOptions): Promise<void> {
    await this.#cri.call(methods.reopenContainerLog, { containerId: id }, options)
  }

  async execSync(
    { containerId, command, timeoutMs }: ExecSyncRequest,
    options?: CallOptions,
  ): Promise<ExecResult> {
    // CRI timeouts are whole seconds; fractions are enforced by our own deadline.
    const timeout = Math.ceil(timeoutMs / 1_000)
    const isWhole = timeout * 1_000 === timeoutMs
    const bound = timeoutMs > 0 ? timeoutMs + (isWhole ? this.#requestTimeoutMs : 0) : Infinity
    const answer = await this.#cri.call(
      methods.execSync,
      { containerId, cmd: command, timeout },
      { timeoutMs: bound, ...options },
    )
    return { stdout: answer.stdout, stderr: answer.stderr, exitCode: answer.exitCode }
  }

  async exec(request: ExecRequest, options?: CallOptions): Promise<CommandProcess> {
    const { containerId, command } = request
    const asked = streamsOf(request)
    const { url } = await this.#cri.call(methods.exec, { containerId, cmd: command, ...asked }, options)
    return this.#streaming.command(url, asked, options)
  }

  async attach(id: string, streams: CommandOptions, options?: CallOptions): Promise<CommandProcess> {
    const asked = streamsOf(streams)
    const { url } = await this.#cri.call(methods.attach, { containerId: id, ...asked }, options)
    return this.#streaming.command(url, asked, options)
  }

  async portForward(sandboxId: string, port: number, options?: CallOptions): Promise<Duplex> {
    const request = { podSandboxId: sandboxId, port: [port] }
    const { url } = await this.#cri.call(methods.portForward, request, options)
    return this.#streaming.port(url, port, options)
  }

  async listContainerStats(filter?: PodFilter, options?: CallOptions): Promise<readonly ContainerStats[]> {
    const answer = await this.#cri.call(methods.listContainerStats, { filter: labelsOf(filter) }, options)
    // Some runtimes return entries without usage for containers that are not running.
    return answer.stats.filter(({ cpu, memory }) => cpu ?? memory).map(containerStatsOf)
  }

  async listImages(options?: CallOptions): Promise<readonly Image[]> {
    const { images } = await this.#cri.call(methods.listImages, {}, options)
    return images.map(image => imageOf(image, this.#pinnedImages))
  }

  async imageStatus(reference: string, options?: CallOptions): Promise<Image | undefined> {
    const request = { image: { image: reference } }
    const answer = await this.#cri.find(methods.imageStatus, request, options)
    return answer?.image && imageOf(answer.image, this.#pinnedImages)
  }

  async pullImage(reference: string, auth: RegistryAuth | undefined, options?: CallOptions): Promise<string> {
    const request = { image: { image: reference }, auth }
    // No deadline, because images can be of any size; the runtime aborts a pull without progress.
    const patient = { timeoutMs: Infinity, ...options }
    return (await this.#cri.call(methods.pullImage, request, patient)).imageRef
  }

  async removeImage(reference: string, options?: CallOptions): Promise<void> {
    await this.#cri.find(methods.removeImage, { image: { image: reference } }, options)
  }

  async imageFsInfo(options?: CallOptions): Promise<FilesystemUsage> {
    const { imageFilesystems } = await this.#cri.call(methods.imageFsInfo, {}, options)
    return filesystemUsageOf(imageFilesystems[0])
  }

  containerEvents(signal: AbortSignal): AsyncIterable<string | undefined> {
    const followed = {
      platform: this.#platform,
      channel: this.#channel,
      runtime: this,
      taskExits: this.#taskExits,
    }
    return followContainerEvents(followed, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]()
  }
}

/** The runtimes' own limit on message size. */
const receivedBytesMax = 16 * 1_024 * 1_024

/** Timeout for calls that a healthy runtime answers immediately. */
const quickTimeoutMs = 10_000

function quick(signal: AbortSignal | undefined): CallOptions {
  return { timeoutMs: quickTimeoutMs, ...(signal && { signal }) }
}

function labelsOf({ podUid }: PodFilter = {}): { labelSelector?: Record<string, string> } {
  return podUid === undefined ? {} : { labelSelector: { [podUidLabel]: podUid } }
}

/** With a TTY there is no separate stderr, and runtimes reject requests for it. */
function streamsOf({ stdin, stdout, stderr, tty }: CommandOptions): CommandOptions {
  return { stdin, stdout, stderr: stderr && !tty, tty }
}
