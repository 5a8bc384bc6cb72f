/** Types of the kubelet's summary API. https://kubernetes.io/docs/reference/instrumentation/node-metrics/ */
export interface Summary {
  readonly node: NodeUsage
  readonly pods: readonly PodUsage[]
}

export interface NodeUsage {
  readonly nodeName: string
  readonly startTime: string
  readonly cpu: CpuUsage
  readonly memory: MemoryUsage
  readonly swap?: SwapUsage
  readonly network?: NetworkUsage
  readonly fs?: DiskUsage
  readonly runtime?: { readonly imageFs: DiskUsage; readonly containerFs: DiskUsage }
  readonly rlimit?: { readonly time: string; readonly maxpid: number; readonly curproc: number }
}

export interface PodUsage {
  readonly 'podRef': { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly 'startTime': string
  readonly 'containers': readonly ContainerUsage[]
  readonly 'cpu': CpuUsage
  readonly 'memory': MemoryUsage
  readonly 'ephemeral-storage'?: DiskUsage
}

export interface ContainerUsage {
  readonly name: string
  readonly startTime: string
  readonly cpu: CpuUsage
  readonly memory: MemoryUsage
  readonly rootfs?: DiskUsage
  readonly logs?: DiskUsage
}

export interface CpuUsage {
  readonly time: string
  /** Current rate; 1e9 is one core. */
  readonly usageNanoCores?: number
  /** Cumulative. */
  readonly usageCoreNanoSeconds: number
}

export interface MemoryUsage {
  readonly time: string
  readonly availableBytes?: number
  readonly usageBytes: number
  readonly workingSetBytes: number
  readonly rssBytes: number
  readonly pageFaults: number
  readonly majorPageFaults: number
}

export interface SwapUsage {
  readonly time: string
  readonly swapAvailableBytes: number
  readonly swapUsageBytes: number
}

export interface DiskUsage {
  readonly time: string
  readonly availableBytes: number
  readonly capacityBytes: number
  readonly usedBytes: number
  readonly inodesFree: number
  readonly inodes: number
  readonly inodesUsed: number
}

export interface NetworkUsage extends Partial<InterfaceUsage> {
  readonly time: string
  readonly interfaces: readonly InterfaceUsage[]
}

export interface InterfaceUsage {
  readonly name: string
  readonly rxBytes: number
  readonly rxErrors: number
  readonly txBytes: number
  readonly txErrors: number
}
