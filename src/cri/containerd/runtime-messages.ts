import { message, type MessageOf } from '#/base/protobuf.ts'
import { labelMap, UInt64Value } from './common-messages.ts'
import { ContainerMetadata } from './container-messages.ts'

/** CRI v1 messages for runtime status, streaming sessions and stats. Names and field numbers are CRI's. */
export const VersionRequest = message({ version: [1, 'string'] })

export const VersionResponse = message({ runtimeName: [2, 'string'], runtimeVersion: [3, 'string'] })

const RuntimeCondition = message({
  type: [1, 'string'],
  status: [2, 'bool'],
  reason: [3, 'string'],
  message: [4, 'string'],
})

const RuntimeStatus = message({ conditions: [1, RuntimeCondition, 'repeated'] })

const RuntimeHandlerFeatures = message({ recursiveReadOnlyMounts: [1, 'bool'], userNamespaces: [2, 'bool'] })

const RuntimeHandler = message({ name: [1, 'string'], features: [2, RuntimeHandlerFeatures] })

export const StatusResponse = message({
  status: [1, RuntimeStatus],
  runtimeHandlers: [3, RuntimeHandler, 'repeated'],
})
export type StatusResponse = MessageOf<typeof StatusResponse>

export const ExecSyncRequest = message({
  containerId: [1, 'string'],
  cmd: [2, 'string', 'repeated'],
  timeout: [3, 'int64'],
})

export const ExecSyncResponse = message({
  stdout: [1, 'bytes'],
  stderr: [2, 'bytes'],
  exitCode: [3, 'int32'],
})

export const ExecRequest = message({
  containerId: [1, 'string'],
  cmd: [2, 'string', 'repeated'],
  tty: [3, 'bool'],
  stdin: [4, 'bool'],
  stdout: [5, 'bool'],
  stderr: [6, 'bool'],
})

export const AttachRequest = message({
  containerId: [1, 'string'],
  stdin: [2, 'bool'],
  tty: [3, 'bool'],
  stdout: [4, 'bool'],
  stderr: [5, 'bool'],
})

export const PortForwardRequest = message({ podSandboxId: [1, 'string'], port: [2, 'int32', 'repeated'] })

/** Response of exec, attach and port-forward: a single-use URL of the streaming server. */
export const SessionUrl = message({ url: [1, 'string'] })

const ContainerStatsFilter = message({ id: [1, 'string'], labelSelector: [3, labelMap] })

export const ListContainerStatsRequest = message({ filter: [1, ContainerStatsFilter] })

const ContainerAttributes = message({
  id: [1, 'string'],
  metadata: [2, ContainerMetadata],
  labels: [3, labelMap],
})

const CpuUsage = message({ timestamp: [1, 'int64'], usageCoreNanoSeconds: [2, UInt64Value] })

const MemoryUsage = message({
  timestamp: [1, 'int64'],
  workingSetBytes: [2, UInt64Value],
  usageBytes: [4, UInt64Value],
  rssBytes: [5, UInt64Value],
  pageFaults: [6, UInt64Value],
  majorPageFaults: [7, UInt64Value],
})

const SwapUsage = message({
  timestamp: [1, 'int64'],
  availableBytes: [2, UInt64Value],
  usageBytes: [3, UInt64Value],
})

const FilesystemIdentifier = message({ mountpoint: [1, 'string'] })

export const FilesystemUsage = message({
  timestamp: [1, 'int64'],
  fsId: [2, FilesystemIdentifier],
  usedBytes: [3, UInt64Value],
  inodesUsed: [4, UInt64Value],
})

export const ContainerStats = message({
  attributes: [1, ContainerAttributes],
  cpu: [2, CpuUsage],
  memory: [3, MemoryUsage],
  writableLayer: [4, FilesystemUsage],
  swap: [5, SwapUsage],
})
export type ContainerStats = MessageOf<typeof ContainerStats>

export const ListContainerStatsResponse = message({ stats: [1, ContainerStats, 'repeated'] })
