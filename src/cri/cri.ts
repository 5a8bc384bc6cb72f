/**
 * What runs containers: the Container Runtime Interface of Kubernetes in our own words. `containerd/` speaks CRI v1 to
 * any runtime over gRPC, `simulated/` only seems to run anything; both pass `cri.conformance.ts`. The kubelet knows
 * nothing else of runtimes. Identifiers are the runtime's. What is not there is CriError `not-found`; to stop or remove
 * what is stopped or gone already is no error.
 */
import type { Duplex } from 'node:stream'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'

export interface ContainerRuntime extends AsyncDisposable {
  version(signal?: AbortSignal): Promise<RuntimeVersion>
  /** Whether it can run pods, and whether these would have a network. */
  status(signal?: AbortSignal): Promise<RuntimeStatus>

  /** Makes the pod's namespaces, network and pause container. Resolves with its id when it runs. */
  runSandbox(config: SandboxConfig, options?: CallOptions): Promise<string>
  /** Kills what runs in it and gives its network back. It may be called again and again. */
  stopSandbox(id: string, options?: CallOptions): Promise<void>
  /** Removes its containers too. */
  removeSandbox(id: string, options?: CallOptions): Promise<void>
  sandboxStatus(id: string, options?: CallOptions): Promise<SandboxStatus>
  listSandboxes(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly SandboxSummary[]>

  createContainer(request: CreateContainer, options?: CallOptions): Promise<string>
  startContainer(id: string, options?: CallOptions): Promise<void>
  /** SIGTERM (or the image's own signal), then SIGKILL after the time given. Resolves when it has ended. */
  stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void>
  removeContainer(id: string, options?: CallOptions): Promise<void>
  containerStatus(id: string, options?: CallOptions): Promise<ContainerStatus>
  listContainers(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly ContainerSummary[]>
  updateResources(id: string, resources: LinuxResources, options?: CallOptions): Promise<void>
  /** The log file was moved away: writes go to a new one from now on. */
  reopenLog(id: string, options?: CallOptions): Promise<void>

  /** Runs a command to its end. A command that cannot be started, or takes too long, is CriError. */
  execSync(
    id: string,
    command: readonly string[],
    timeoutMs: number,
    options?: CallOptions,
  ): Promise<ExecResult>
  exec(
    id: string,
    command: readonly string[],
    streams: CommandOptions,
    options?: CallOptions,
  ): Promise<CommandProcess>
  /** Its result is that of the main process, where the runtime tells it. */
  attach(id: string, streams: CommandOptions, options?: CallOptions): Promise<CommandProcess>
  /** A connection to a port inside the sandbox's network. */
  connectPort(sandboxId: string, port: number, options?: CallOptions): Promise<Duplex>

  /** What containers use now; without a pod's uid, all of them. */
  containerStats(
    filter?: { readonly podUid?: string },
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]>

  listImages(options?: CallOptions): Promise<readonly Image[]>
  /** Undefined when there is no such image. `reference` is a name, with tag or digest, or an id. */
  imageStatus(reference: string, options?: CallOptions): Promise<Image | undefined>
  /** Resolves with the id by which the image is known from now on. */
  pullImage(reference: string, auth: RegistryAuth | undefined, options?: CallOptions): Promise<string>
  removeImage(reference: string, options?: CallOptions): Promise<void>
  /** Where images are kept and how much they take. */
  imageFilesystem(options?: CallOptions): Promise<FilesystemUsage>

  /**
   * Says that something happened to containers, until aborted: the pod whose containers or sandbox changed, or
   * undefined when anything may have. It only says where to look. It begins with undefined, and does so again after a
   * disconnection; it never ends by itself.
   */
  changes(signal: AbortSignal): AsyncIterable<string | undefined>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export type CriErrorReason =
  | 'not-found'
  /** The runtime does not answer. */
  | 'unavailable'
  | 'timeout'
  /** This runtime cannot do that. */
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
  /** Names of runtime handlers, for runtime classes; the default one is `''`. */
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

/** Which pod; `attempt` counts the sandboxes it had before. */
export interface SandboxMetadata {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly attempt: number
}

export interface SandboxConfig {
  readonly metadata: SandboxMetadata
  readonly hostname: string
  /** Where the logs of its containers are. */
  readonly logFolder: string
  /** The node's own when absent. */
  readonly dns?: DnsConfig
  readonly portMappings: readonly PortMapping[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly cgroupParent: string
  readonly sysctls: Readonly<Record<string, string>>
  readonly security: SandboxSecurity
  /** Of the runtime class; empty is the runtime's default. */
  readonly runtimeHandler: string
  /** What the pod as a whole may use; for runtimes that make a machine of it. */
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

/** Whose namespace: one of the pod's own, one of the container's own, the node's, or that of another container. */
export type NamespaceMode = 'pod' | 'container' | 'node' | { readonly target: string }

export interface NamespaceOptions {
  readonly network: NamespaceMode
  readonly pid: NamespaceMode
  readonly ipc: NamespaceMode
  /** A user namespace of the pod's own, with these mappings; that of the node when absent. */
  readonly users?: { readonly uids: readonly IdMapping[]; readonly gids: readonly IdMapping[] }
}

export interface IdMapping {
  readonly hostId: number
  readonly containerId: number
  readonly length: number
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost'
  /** The file, or the name of the profile that is loaded. */
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
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface SandboxStatus extends SandboxSummary {
  /** The pod's addresses, the first one first; empty in the node's network. */
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
  /** Counts the containers of this name that the pod had before. */
  readonly attempt: number
  /** The image's id, as `pullImage` and `imageStatus` give it. */
  readonly image: string
  /** As the user wrote it. */
  readonly userImage: string
  /** Entry point and arguments; the image's own when empty. */
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly workingDir: string
  readonly environment: readonly { readonly name: string; readonly value: string }[]
  readonly mounts: readonly Mount[]
  readonly devices: readonly Device[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Below the sandbox's log folder. */
  readonly logPath: string
  readonly stdin: boolean
  readonly stdinOnce: boolean
  readonly tty: boolean
  readonly resources: LinuxResources
  readonly security: ContainerSecurity
  /** The image's own when absent: `SIGTERM`. */
  readonly stopSignal?: string
}

export interface Mount {
  readonly hostPath: string
  readonly containerPath: string
  readonly readonly: boolean
  readonly recursiveReadonly: boolean
  readonly propagation: 'private' | 'host-to-container' | 'bidirectional'
  readonly selinuxRelabel: boolean
  /** The content of an image instead of a folder of the node. */
  readonly image?: { readonly id: string; readonly subPath: string }
}

export interface Device {
  readonly hostPath: string
  readonly containerPath: string
  readonly permissions: string
}

/** What is absent is not limited. */
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
  /** Files of cgroup v2 and what to write into them. */
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
  /** Absolute, nanoseconds since 1970; 0 when it has not come to that. */
  readonly startedAt: bigint
  readonly finishedAt: bigint
  readonly exitCode: number
  /** `Completed`, `Error`, `OOMKilled`, `StartError` and what else runtimes say. */
  readonly reason: string
  readonly message: string
  /** The image as a name that people know, and its id. */
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

export interface ExecResult {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  readonly exitCode: number
}

export interface ContainerStats {
  readonly containerId: string
  readonly name: string
  readonly podUid: string
  /** Nanoseconds since 1970. */
  readonly timestamp: bigint
  /** Processor time used since the start. */
  readonly cpuNanoseconds: bigint
  readonly memoryWorkingSetBytes: number
  readonly memoryUsageBytes: number
  readonly memoryRssBytes: number
  readonly memoryPageFaults: number
  readonly memoryMajorPageFaults: number
  readonly writableLayerBytes: number
  readonly writableLayerInodes: number
}

export interface Image {
  /** `sha256:...` */
  readonly id: string
  readonly tags: readonly string[]
  readonly digests: readonly string[]
  readonly sizeBytes: number
  /** Whom it runs as, when it says so: a number or a name. */
  readonly uid?: number
  readonly username?: string
  /** Must not be removed as unused. */
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
