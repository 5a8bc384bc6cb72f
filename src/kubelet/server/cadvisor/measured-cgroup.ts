import type { CgroupStats } from '../../cgroup-stats.ts'
import type { DiskStats } from './disk-stats.ts'
import type { InterfaceUsage } from './network-interfaces.ts'

/** A cgroup with what it stands for: the machine, a QoS class, a pod, its sandbox or a container. */
export interface MeasuredCgroup {
  readonly labels: CgroupLabels
  /** Time of the measurement. */
  readonly timeMs: number
  /** 0 if unknown. */
  readonly startedMs: number
  readonly stats: CgroupStats
  /** Of the machine and of sandboxes. */
  readonly interfaces: readonly InterfaceUsage[]
  /** Of the machine. */
  readonly filesystems: readonly Filesystem[]
}

/** cAdvisor's labels. `id` is the path of the cgroup, `name` the id of the container; empty where there is none. */
export interface CgroupLabels {
  readonly container: string
  readonly id: string
  readonly image: string
  readonly name: string
  readonly namespace: string
  readonly pod: string
}

export interface Filesystem {
  /** Such as `/dev/sda1`. */
  readonly device: string
  readonly limitBytes: number
  readonly usedBytes: number
  readonly inodes: number
  readonly freeInodes: number
  readonly disk?: DiskStats
}
