import type { MessageOf } from '#/base/protobuf.ts'
import type {
  ContainerStats,
  ContainerStatus,
  ContainerSummary,
  FilesystemUsage,
  LinuxResources,
  Mount,
} from '../cri.ts'
import { podUidLabel, type LinuxContainerResources } from './common-messages.ts'
import type {
  Container,
  ContainerStatus as ContainerStatusMessage,
  Mount as MountMessage,
} from './container-messages.ts'
import { containerStates, propagations } from './enumerations.ts'
import type {
  ContainerStats as ContainerStatsMessage,
  FilesystemUsage as FilesystemUsageMessage,
} from './runtime-messages.ts'

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
