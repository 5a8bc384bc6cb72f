/** Types of the kubelet's summary API. https://kubernetes.io/docs/reference/instrumentation/node-metrics/ */
export interface Summary {
  readonly node: NodeStats
  readonly pods: readonly PodStats[]
}

export interface NodeStats {
  readonly nodeName: string
  readonly startTime: string
  readonly cpu: CpuStats
  readonly memory: MemoryStats
  readonly swap?: SwapStats
  readonly network?: NetworkStats
  readonly fs?: FsStats
  readonly runtime?: { readonly imageFs: FsStats; readonly containerFs: FsStats }
  readonly rlimit?: { readonly time: string; readonly maxpid: number; readonly curproc: number }
}

export interface PodStats {
  readonly 'podRef': { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly 'startTime': string
  readonly 'containers': readonly ContainerStats[]
  readonly 'cpu': CpuStats
  readonly 'memory': MemoryStats
  readonly 'ephemeral-storage'?: FsStats
}

export interface ContainerStats {
  readonly name: string
  readonly startTime: string
  readonly cpu: CpuStats
  readonly memory: MemoryStats
  readonly swap?: SwapStats
  readonly rootfs?: FsStats
  readonly logs?: FsStats
}

export interface CpuStats {
  readonly time: string
  /** Current rate; 1e9 is one core. */
  readonly usageNanoCores?: number
  /** Cumulative. */
  readonly usageCoreNanoSeconds: number
}

export interface MemoryStats {
  readonly time: string
  readonly availableBytes?: number
  readonly usageBytes: number
  readonly workingSetBytes: number
  readonly rssBytes: number
  readonly pageFaults: number
  readonly majorPageFaults: number
}

export interface SwapStats {
  readonly time: string
  readonly swapAvailableBytes: number
  readonly swapUsageBytes: number
}

export interface FsStats {
  readonly time: string
  readonly availableBytes: number
  readonly capacityBytes: number
  readonly usedBytes: number
  readonly inodesFree: number
  readonly inodes: number
  readonly inodesUsed: number
}

export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time: string
  readonly interfaces: readonly InterfaceStats[]
}

export interface InterfaceStats {
  readonly name: string
  readonly rxBytes: number
  readonly rxErrors: number
  readonly txBytes: number
  readonly txErrors: number
}
