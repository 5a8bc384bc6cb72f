/**
 * Facts about the machine that matter to pods: capacity, allocatable and kernel features. They change rarely:
 * read at startup and for periodic node status updates.
 */
import { join } from 'node:path'
import type { LinuxFiles, HostInfo } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { hugePageResource, pageSizeText } from './huge-pages.ts'
import { planAllocatable, planCapacity, type HugePages } from './machine-info/capacity.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { milliAmount, wholeAmount, type ResourceList } from './resource-amount.ts'

export interface MachineInfo {
  readonly memoryBytes: number
  readonly cgroupVersion: 1 | 2
  /** True if the kernel's cgroups account for swap. */
  readonly canLimitSwap: boolean
  /** Huge page sizes of the kernel, such as `2MB`. */
  readonly hugePageSizes: readonly string[]
  /** Machine-dependent paths to mask because they leak information. */
  readonly maskedPaths: readonly string[]
  /** Maximum number of processes and threads; undefined if the kernel does not tell. */
  readonly pidsMax: number | undefined
  /** `cpu`, `memory`, `ephemeral-storage`, `pods`, `hugepages-2Mi`. */
  readonly capacity: ResourceList
  /** The part of the capacity available to pods. */
  readonly allocatable: ResourceList
}

/** The subset of `Linux` used here. */
export interface NodeLinux {
  readonly machine: HostInfo
  readonly files: Pick<LinuxFiles, 'space'>
}

export interface MachineInfoOptions {
  readonly platform: Platform
  readonly linux: NodeLinux
  readonly node: KubeletConfiguration
}

export async function readMachineInfo(options: MachineInfoOptions): Promise<MachineInfo> {
  const { linux, node } = options
  const { memoryBytes, processors, cgroupVersion } = linux.machine
  const [hugePages, pidsMax, maskedPaths, canLimitSwap, space] = await Promise.all([
    readHugePages(options),
    readPidsMax(options),
    findMaskedPaths(options),
    findSwapControl(options),
    linux.files.space(node.rootDirectory),
  ])
  const { totalBytes: storageBytes } = space
  const capacity = planCapacity({ processors, memoryBytes, storageBytes, podsMax: node.podsMax, hugePages })
  return {
    memoryBytes,
    cgroupVersion,
    canLimitSwap,
    hugePageSizes: hugePages.map(({ sizeBytes }) => pageSizeText(sizeBytes)),
    maskedPaths,
    pidsMax,
    capacity,
    allocatable: planAllocatable(capacity, node),
  }
}

/**
 * Limits of the `kubepods` cgroup, for `PodCgroups.start`: capacity minus reserved resources. Without a setting a tenth
 * of the PIDs is reserved, because a machine without free PIDs cannot even be repaired.
 */
export function nodeAllocatableLimits(
  { capacity, pidsMax }: MachineInfo,
  { systemReserved }: KubeletConfiguration,
): NodeAllocatableLimits {
  const reserved = systemReserved['pid']
  const reservedPids = reserved === undefined ? (pidsMax ?? 0) / 10 : wholeAmount(systemReserved, 'pid')
  return {
    cpuMilli: milliAmount(capacity, 'cpu') - milliAmount(systemReserved, 'cpu'),
    memoryBytes: wholeAmount(capacity, 'memory') - wholeAmount(systemReserved, 'memory'),
    pids: pidsMax === undefined ? -1 : Math.max(1, Math.floor(pidsMax - reservedPids)),
  }
}

export interface NodeAllocatableLimits {
  readonly cpuMilli: number
  readonly memoryBytes: number
  /** -1 means no limit. */
  readonly pids: number
}

async function readPidsMax({ platform: { files } }: MachineInfoOptions): Promise<number | undefined> {
  const paths = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max']
  const texts = await Promise.all(paths.map(path => files.read(path).catch(() => undefined)))
  const limits = texts.flatMap(text => (text === undefined ? [] : [Number(new TextDecoder().decode(text))]))
  return limits.length === 0 ? undefined : Math.min(...limits)
}

const hugePagesFolder = '/sys/kernel/mm/hugepages'

async function readHugePages({ platform: { files } }: MachineInfoOptions): Promise<readonly HugePages[]> {
  const found: HugePages[] = []
  for (const name of await files.list(hugePagesFolder).catch(() => [])) {
    const [, kibibytes] = /^hugepages-([0-9]+)kB$/.exec(name) ?? []
    if (kibibytes === undefined) continue
    const sizeBytes = Number(kibibytes) * 1024
    const count = Number(
      new TextDecoder().decode(await files.read(join(hugePagesFolder, name, 'nr_hugepages'))),
    )
    found.push({ sizeBytes, count, resource: hugePageResource(sizeBytes) })
  }
  return found.sort((a, b) => a.sizeBytes - b.sizeBytes)
}

const processorsFolder = '/sys/devices/system/cpu'

/** Thermal throttling counters reveal activity of other workloads. */
async function findMaskedPaths({ platform: { files } }: MachineInfoOptions): Promise<readonly string[]> {
  const names = await files.list(processorsFolder).catch(() => [])
  const paths = names
    .filter(name => /^cpu[0-9]+$/.test(name))
    .map(name => join(processorsFolder, name, 'thermal_throttle'))
  const found = await Promise.all(paths.map(path => files.stat(path)))
  return paths.filter((_, index) => found[index] !== undefined)
}

/** In cgroup v2 the root has no such file, so the cgroup of this process is checked. */
async function findSwapControl({ platform: { files }, linux }: MachineInfoOptions): Promise<boolean> {
  if (linux.machine.cgroupVersion === 1) {
    return (await files.stat('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes')) !== undefined
  }
  const own = await files.read('/proc/self/cgroup').catch(() => new Uint8Array())
  const [, path = '/'] = /^0::(.*)$/m.exec(new TextDecoder().decode(own)) ?? []
  return (await files.stat(join('/sys/fs/cgroup', path, 'memory.swap.max'))) !== undefined
}
