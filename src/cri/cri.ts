/**
 * The Container Runtime Interface as used by the kubelet. `containerd/` implements it over CRI v1 gRPC,
 * `simulated/` without containers; both pass `cri.conformance.ts`. Ids are the runtime's. Missing objects
 * raise CriError `not-found`; stopping or removing is idempotent.
 */
import type { Duplex } from 'node:stream'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'

export interface ContainerRuntime extends AsyncDisposable {
  version(signal?: AbortSignal): Promise<RuntimeVersion>
  /** Runtime and network readiness. */
  status(signal?: AbortSignal): Promise<RuntimeStatus>

  /**
   * Creates the pod's namespaces, network and pause container. Resolves with the id of the running sandbox.
   */
  runPodSandbox(config: SandboxConfig, options?: CallOptions): Promise<string>
  /** Kills the sandbox's containers and releases its network. Idempotent. */
  stopPodSandbox(id: string, options?: CallOptions): Promise<void>
  /** Also removes its containers. */
  removePodSandbox(id: string, options?: CallOptions): Promise<void>
  podSandboxStatus(id: string, options?: CallOptions): Promise<SandboxStatus>
  listPodSandbox(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly SandboxSummary[]>
  /**
   * Kills the process that holds the sandbox and its containers for the runtime, without asking the runtime: for a
   * sandbox that does not respond. The runtime then reports the sandbox as not ready and its containers as exited,
   * but the containers' processes may still run. Idempotent.
   */
  killShim(sandboxId: string): Promise<void>

  createContainer(request: CreateContainer, options?: CallOptions): Promise<string>
  startContainer(id: string, options?: CallOptions): Promise<void>
  /**
   * Sends SIGTERM (or the image's stop signal), then SIGKILL after the grace period. Resolves when the
   * container has exited.
   */
  stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void>
  removeContainer(id: string, options?: CallOptions): Promise<void>
  containerStatus(id: string, options?: CallOptions): Promise<ContainerStatus>
  listContainers(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly ContainerSummary[]>
  updateContainerResources(id: string, resources: LinuxResources, options?: CallOptions): Promise<void>
  /** Reopens the log file after log rotation. */
  reopenContainerLog(id: string, options?: CallOptions): Promise<void>

  /** Runs a command to completion. Throws CriError if it cannot start or times out. */
  execSync(request: ExecSyncRequest, options?: CallOptions): Promise<ExecResult>
  exec(request: ExecRequest, options?: CallOptions): Promise<CommandProcess>
  /** The result is that of the container's main process, if the runtime reports it. */
  attach(id: string, streams: CommandOptions, options?: CallOptions): Promise<CommandProcess>
  /** Connects to a port in the sandbox's network namespace. */
  portForward(sandboxId: string, port: number, options?: CallOptions): Promise<Duplex>

  /** Current resource usage of a pod's containers, or of all containers without a pod UID. */
  listContainerStats(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]>

  listImages(options?: CallOptions): Promise<readonly Image[]>
  /** Undefined if the image is not present. `reference` is a name with tag or digest, or an id. */
  imageStatus(reference: string, options?: CallOptions): Promise<Image | undefined>
  /** Resolves with the image id. */
  pullImage(reference: string, auth: RegistryAuth | undefined, options?: CallOptions): Promise<string>
  removeImage(reference: string, options?: CallOptions): Promise<void>
  /** Path and usage of the image filesystem. */
  imageFsInfo(options?: CallOptions): Promise<FilesystemUsage>

  /**
   * Yields the UID of each pod with changed containers or a changed sandbox, or undefined when any pod may
   * have changed, until aborted. It carries no state: the reader has to query the runtime. The first value,
   * and the first after each reconnection, is undefined.
   */
  containerEvents(signal: AbortSignal): AsyncIterable<string | undefined>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** The kubelet's default runtime request timeout. */
export const runtimeRequestTimeoutMs = 120_000

export type CriErrorReason =
  | 'not-found'
  /** The runtime cannot be reached. */
  | 'unavailable'
  | 'timeout'
  /** The runtime does not implement the call. */
  | 'unsupported'
  | 'failed'

export class CriError extends Error {
  readonly reason: CriErrorReason
  constructor(reason: CriErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CriError'
    this.reason = reason
  }
}

export interface RuntimeVersion {
  readonly name: string
  readonly version: string
}

export interface RuntimeStatus {
  readonly runtime: RuntimeCondition
  readonly network: RuntimeCondition
  /** Runtime handlers for RuntimeClass; `''` is the default handler. */
  readonly handlers: readonly RuntimeHandler[]
}

export interface RuntimeCondition {
  readonly isReady: boolean
  readonly reason: string
  readonly message: string
}

export interface RuntimeHandler {
  readonly name: string
  readonly supportsUserNamespaces: boolean
  readonly supportsRecursiveReadOnlyMounts: boolean
}

/** Identifies the pod; `attempt` is the number of earlier sandboxes of the pod. */
export interface SandboxMetadata {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly attempt: number
}

export interface SandboxConfig {
  readonly metadata: SandboxMetadata
  readonly hostname: string
  /** Directory of its containers' logs. */
  readonly logFolder: string
  /** The node's configuration if absent. */
  readonly dns?: DnsConfig
  readonly portMappings: readonly PortMapping[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly cgroupParent: string
  readonly sysctls: Readonly<Record<string, string>>
  readonly security: SandboxSecurity
  /** From the RuntimeClass; empty for the runtime's default handler. */
  readonly runtimeHandler: string
  /** Pod overhead, used by VM-based runtimes. */
  readonly overhead?: LinuxResources
  readonly resources?: LinuxResources
}

export interface DnsConfig {
  readonly servers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly containerPort: number
  readonly hostPort: number
  readonly hostIp: string
}

/** A namespace of the pod, of the container, of the node, or of the target container. */
export type NamespaceMode = 'pod' | 'container' | 'node' | { readonly target: string }

export interface NamespaceOptions {
  readonly network: NamespaceMode
  readonly pid: NamespaceMode
  readonly ipc: NamespaceMode
  /** ID mappings of the pod's user namespace; the node's user namespace if absent. */
  readonly users?: { readonly uids: readonly IdMapping[]; readonly gids: readonly IdMapping[] }
}

export interface IdMapping {
  readonly hostId: number
  readonly containerId: number
  readonly length: number
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost'
  /** Path of the profile file, or name of the loaded profile. */
  readonly localhostRef?: string
}

export interface SelinuxOptions {
  readonly user: string
  readonly role: string
  readonly type: string
  readonly level: string
}

export interface SandboxSecurity {
  readonly namespaces: NamespaceOptions
  readonly selinux?: SelinuxOptions
  readonly runAsUser?: number
  readonly runAsGroup?: number
  readonly readonlyRootfs: boolean
  readonly supplementalGroups: readonly number[]
  readonly supplementalGroupsPolicy: 'Merge' | 'Strict'
  readonly privileged: boolean
  readonly seccomp: SecurityProfile
}

export type SandboxState = 'ready' | 'not-ready'

export interface SandboxSummary {
  readonly id: string
  readonly metadata: SandboxMetadata
  readonly state: SandboxState
  /** Nanoseconds since the Unix epoch. */
  readonly createdAt: bigint
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface SandboxStatus extends SandboxSummary {
  /** Pod IPs, primary first; empty in the node's network namespace. */
  readonly addresses: readonly string[]
  readonly network: NamespaceMode
}

export interface CreateContainer {
  readonly sandboxId: string
  readonly sandbox: SandboxConfig
  readonly config: ContainerConfig
}

export interface ContainerConfig {
  readonly name: string
  /** Number of earlier containers of this name in the pod. */
  readonly attempt: number
  /** Image id as returned by `pullImage` and `imageStatus`. */
  readonly image: string
  /** Image name as written in the pod spec. */
  readonly userImage: string
  /** Entrypoint; the image's if empty. */
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly workingDir: string
  readonly environment: readonly { readonly name: string; readonly value: string }[]
  readonly mounts: readonly Mount[]
  readonly devices: readonly Device[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Relative to the sandbox's log directory. */
  readonly logPath: string
  readonly stdin: boolean
  readonly stdinOnce: boolean
  readonly tty: boolean
  readonly resources: LinuxResources
  readonly security: ContainerSecurity
  /** `SIGTERM`, for example; the image's stop signal if absent. */
  readonly stopSignal?: string
}

export interface Mount {
  readonly hostPath: string
  readonly containerPath: string
  readonly readonly: boolean
  readonly recursiveReadonly: boolean
  readonly propagation: 'private' | 'host-to-container' | 'bidirectional'
  readonly selinuxRelabel: boolean
  /** Mounts an image instead of a host path. */
  readonly image?: { readonly id: string; readonly subPath: string }
}

export interface Device {
  readonly hostPath: string
  readonly containerPath: string
  readonly permissions: string
}

/** Absent fields are not limited. */
export interface LinuxResources {
  readonly cpuPeriod?: number
  readonly cpuQuota?: number
  readonly cpuShares?: number
  readonly memoryLimitBytes?: number
  readonly memorySwapLimitBytes?: number
  readonly oomScoreAdj?: number
  readonly cpusetCpus?: string
  readonly cpusetMems?: string
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limitBytes: number }[]
  /** cgroup v2 file names and values. */
  readonly unified?: Readonly<Record<string, string>>
}

export interface ContainerSecurity {
  readonly namespaces: NamespaceOptions
  readonly privileged: boolean
  readonly addCapabilities: readonly string[]
  readonly dropCapabilities: readonly string[]
  readonly selinux?: SelinuxOptions
  readonly runAsUser?: number
  readonly runAsUsername?: string
  readonly runAsGroup?: number
  readonly readonlyRootfs: boolean
  readonly supplementalGroups: readonly number[]
  readonly supplementalGroupsPolicy: 'Merge' | 'Strict'
  readonly noNewPrivileges: boolean
  readonly maskedPaths: readonly string[]
  readonly readonlyPaths: readonly string[]
  readonly seccomp: SecurityProfile
  readonly apparmor?: SecurityProfile
}

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown'

export interface ContainerSummary {
  readonly id: string
  readonly sandboxId: string
  readonly name: string
  readonly attempt: number
  readonly state: ContainerState
  readonly image: string
  readonly createdAt: bigint
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface ContainerStatus extends Omit<ContainerSummary, 'sandboxId'> {
  /** Nanoseconds since the Unix epoch; 0 if not reached. */
  readonly startedAt: bigint
  readonly finishedAt: bigint
  readonly exitCode: number
  /** `Completed`, `Error`, `OOMKilled`, `StartError` or another reason of the runtime. */
  readonly reason: string
  readonly message: string
  /** Image name as shown to users. */
  readonly userImage: string
  readonly imageRef: string
  readonly logPath: string
  readonly mounts: readonly Mount[]
  readonly resources?: LinuxResources
  readonly user?: {
    readonly uid: number
    readonly gid: number
    readonly supplementalGroups: readonly number[]
  }
}

export interface ExecSyncRequest {
  readonly containerId: string
  readonly command: readonly string[]
  /** 0 for no timeout. */
  readonly timeoutMs: number
}

export interface ExecRequest extends CommandOptions {
  readonly containerId: string
  readonly command: readonly string[]
}

export interface ExecResult {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  readonly exitCode: number
}

export interface ContainerStats {
  readonly containerId: string
  readonly name: string
  readonly podUid: string
  /** Nanoseconds since the Unix epoch. */
  readonly timestamp: bigint
  /** Cumulative CPU time since the container started. */
  readonly cpuNanoseconds: bigint
  readonly memoryWorkingSetBytes: number
  readonly memoryUsageBytes: number
  readonly memoryRssBytes: number
  readonly memoryPageFaults: number
  readonly memoryMajorPageFaults: number
  /** Absent if the runtime does not report it. */
  readonly swapUsageBytes?: number
  readonly swapAvailableBytes?: number
  readonly writableLayerBytes: number
  readonly writableLayerInodes: number
}

export interface Image {
  /** `sha256:...` */
  readonly id: string
  readonly tags: readonly string[]
  readonly digests: readonly string[]
  readonly sizeBytes: number
  /** The user of the image if set: a UID or a name. */
  readonly uid?: number
  readonly username?: string
  /** Excluded from image garbage collection. */
  readonly isPinned: boolean
}

export interface RegistryAuth {
  readonly username?: string
  readonly password?: string
  readonly auth?: string
  readonly serverAddress?: string
  readonly identityToken?: string
  readonly registryToken?: string
}

export interface FilesystemUsage {
  readonly folder: string
  readonly usedBytes: number
  readonly usedInodes: number
}
