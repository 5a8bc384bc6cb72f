/** Conversions from CRI messages. */
import type { MessageOf } from '#/base/protobuf.ts'
import type {
  ContainerStats,
  ContainerStatus,
  ContainerSummary,
  FilesystemUsage,
  LinuxResources,
  Mount,
  NamespaceMode,
  SandboxMetadata,
  SandboxStatus,
  SandboxSummary,
  Image,
  RuntimeCondition,
  RuntimeStatus,
} from '../cri.ts'
import { podUidLabel, type LinuxContainerResources } from './common-messages.ts'
import type {
  Container,
  ContainerStatus as ContainerStatusMessage,
  Mount as MountMessage,
} from './container-messages.ts'
import { containerStates, propagations, namespaceModes, sandboxStates } from './enumerations.ts'
import type {
  ContainerStats as ContainerStatsMessage,
  FilesystemUsage as FilesystemUsageMessage,
  StatusResponse,
} from './runtime-messages.ts'
import type { PodSandbox, PodSandboxStatus } from './sandbox-messages.ts'
import type { Image as ImageMessage } from './image-messages.ts'

/** Conversions from CRI container messages. */
export function containerSummaryOf(container: Container): ContainerSummary {
  return { ...commonOf(container), sandboxId: container.podSandboxId }
}

export function containerStatusOf(status: ContainerStatusMessage): ContainerStatus {
  const user = status.user?.linux
  const resources = status.resources?.linux
  return {
    ...commonOf(status),
    startedAt: BigInt(status.startedAt),
    finishedAt: BigInt(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    userImage: status.image?.image || (status.image?.userSpecifiedImage ?? ''),
    imageRef: status.imageRef,
    logPath: status.logPath,
    mounts: status.mounts.map(mountOf),
    ...(resources && { resources: resourcesOf(resources) }),
    ...(user && {
      user: {
        uid: Number(user.uid),
        gid: Number(user.gid),
        supplementalGroups: user.supplementalGroups.map(Number),
      },
    }),
  }
}

function commonOf(container: Omit<Container, 'podSandboxId'>): Omit<ContainerSummary, 'sandboxId'> {
  return {
    id: container.id,
    name: container.metadata?.name ?? '',
    attempt: container.metadata?.attempt ?? 0,
    state: containerStates[container.state] ?? 'unknown',
    image: container.image?.image ?? '',
    createdAt: BigInt(container.createdAt),
    labels: container.labels,
    annotations: container.annotations,
  }
}

function mountOf(mount: MountMessage): Mount {
  return {
    hostPath: mount.hostPath,
    containerPath: mount.containerPath,
    readonly: mount.readonly,
    recursiveReadonly: mount.recursiveReadOnly,
    propagation: propagations[mount.propagation] ?? 'private',
    selinuxRelabel: mount.selinuxRelabel,
    ...(mount.image && { image: { id: mount.image.image, subPath: mount.imageSubPath } }),
  }
}

/** In CRI, zero and empty mean no limit. */
function resourcesOf(resources: MessageOf<typeof LinuxContainerResources>): LinuxResources {
  const { cpusetCpus, cpusetMems, hugepageLimits, unified } = resources
  return {
    ...number('cpuPeriod', resources.cpuPeriod),
    ...number('cpuQuota', resources.cpuQuota),
    ...number('cpuShares', resources.cpuShares),
    ...number('memoryLimitBytes', resources.memoryLimitInBytes),
    ...number('memorySwapLimitBytes', resources.memorySwapLimitInBytes),
    ...number('oomScoreAdj', resources.oomScoreAdj),
    ...(cpusetCpus && { cpusetCpus }),
    ...(cpusetMems && { cpusetMems }),
    ...(hugepageLimits.length > 0 && {
      hugepageLimits: hugepageLimits.map(({ pageSize, limit }) => ({ pageSize, limitBytes: Number(limit) })),
    }),
    ...(Object.keys(unified).length > 0 && { unified }),
  }
}

function number<K extends keyof LinuxResources>(name: K, value: number | bigint): { [P in K]?: number } {
  return Number(value) === 0 ? {} : ({ [name]: Number(value) } as { [P in K]?: number })
}

export function containerStatsOf({
  attributes,
  cpu,
  memory,
  writableLayer,
  swap,
}: ContainerStatsMessage): ContainerStats {
  return {
    containerId: attributes?.id ?? '',
    name: attributes?.metadata?.name ?? '',
    podUid: attributes?.labels[podUidLabel] ?? '',
    timestamp: BigInt(cpu?.timestamp ?? memory?.timestamp ?? 0),
    cpuNanoseconds: BigInt(cpu?.usageCoreNanoSeconds?.value ?? 0),
    memoryWorkingSetBytes: Number(memory?.workingSetBytes?.value ?? 0),
    memoryUsageBytes: Number(memory?.usageBytes?.value ?? 0),
    memoryRssBytes: Number(memory?.rssBytes?.value ?? 0),
    memoryPageFaults: Number(memory?.pageFaults?.value ?? 0),
    memoryMajorPageFaults: Number(memory?.majorPageFaults?.value ?? 0),
    writableLayerBytes: Number(writableLayer?.usedBytes?.value ?? 0),
    writableLayerInodes: Number(writableLayer?.inodesUsed?.value ?? 0),
    ...(swap?.usageBytes && {
      swapUsageBytes: Number(swap.usageBytes.value),
      swapAvailableBytes: Number(swap.availableBytes?.value ?? 0),
    }),
  }
}

export function filesystemUsageOf(
  usage: MessageOf<typeof FilesystemUsageMessage> | undefined,
): FilesystemUsage {
  return {
    folder: usage?.fsId?.mountpoint ?? '',
    usedBytes: Number(usage?.usedBytes?.value ?? 0),
    usedInodes: Number(usage?.inodesUsed?.value ?? 0),
  }
}

export function sandboxSummaryOf(sandbox: PodSandbox): SandboxSummary {
  return {
    id: sandbox.id,
    metadata: sandbox.metadata ?? noMetadata,
    state: sandboxStates[sandbox.state] ?? 'not-ready',
    createdAt: BigInt(sandbox.createdAt),
    labels: sandbox.labels,
    annotations: sandbox.annotations,
  }
}

export function sandboxStatusOf(status: PodSandboxStatus): SandboxStatus {
  const { ip = '', additionalIps = [] } = status.network ?? {}
  const options = status.linux?.namespaces?.options
  return {
    ...sandboxSummaryOf(status),
    addresses: [ip, ...additionalIps.map(each => each.ip)].filter(address => address !== ''),
    network: modeOf(options?.network ?? 0, options?.targetId ?? ''),
  }
}

function modeOf(number: number, target: string): NamespaceMode {
  const mode = namespaceModes[number] ?? 'pod'
  return mode === 'target' ? { target } : mode
}

const noMetadata: SandboxMetadata = { name: '', namespace: '', uid: '', attempt: 0 }

/**
 * Converts CRI's runtime status. Older runtimes do not report their handlers and have only the default one.
 */
export function runtimeStatusOf({ status, runtimeHandlers }: StatusResponse): RuntimeStatus {
  const conditionOf = (type: string): RuntimeCondition => {
    const found = status?.conditions.find(condition => condition.type === type)
    return {
      isReady: found?.status ?? false,
      reason: found?.reason ?? '',
      message: found?.message ?? '',
    }
  }
  const handlers = runtimeHandlers.map(({ name, features }) => ({
    name,
    supportsUserNamespaces: features?.userNamespaces ?? false,
    supportsRecursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
  }))
  const usual = { name: '', supportsUserNamespaces: false, supportsRecursiveReadOnlyMounts: false }
  return {
    runtime: conditionOf('RuntimeReady'),
    network: conditionOf('NetworkReady'),
    handlers: handlers.length > 0 ? handlers : [usual],
  }
}

/** `pinned` lists images to treat as pinned regardless of what the runtime reports. */
export function imageOf(image: ImageMessage, pinned: ReadonlySet<string>): Image {
  return {
    id: image.id,
    tags: image.repoTags,
    digests: image.repoDigests,
    sizeBytes: Number(image.size),
    ...(image.uid && { uid: Number(image.uid.value) }),
    ...(image.username && { username: image.username }),
    isPinned: image.pinned || image.repoTags.some(tag => pinned.has(tag)),
  }
}
