/**
 * What a node finds out about its machine that decides about pods: what there is, what of it pods may have, and what
 * the kernel can do. It changes rarely: whoever needs it reads it when he starts, and the node's status now and then.
 */
import { join } from 'node:path'
import type { LinuxFiles, MachineInfo } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { hugePageResource, pageSizeText } from './huge-pages.ts'
import { planAllocatable, planCapacity, type HugePages } from './node-machine/capacity.ts'
import type { NodeSettings } from './node-settings.ts'
import { milliAmount, wholeAmount, type ResourceList } from './resource-amount.ts'

export interface NodeMachine {
  readonly memoryBytes: number
  readonly cgroupVersion: 1 | 2
  /** Whether control groups of this kernel count swap. */
  readonly canLimitSwap: boolean
  /** `2MB`: the sizes of huge pages that there are. */
  readonly hugePageSizes: readonly string[]
  /** Paths that only some machines have and that tell too much of them. */
  readonly maskedPaths: readonly string[]
  /** What the machine has: `cpu`, `memory`, `ephemeral-storage`, `pods`, `hugepages-2Mi`. */
  readonly capacity: ResourceList
  /** What of it pods may have. */
  readonly allocatable: ResourceList
}

/** What of the machine is asked for. */
export interface NodeLinux {
  readonly machine: MachineInfo
  readonly files: Pick<LinuxFiles, 'space'>
}

export interface NodeMachineOptions {
  readonly platform: Platform
  readonly linux: NodeLinux
  readonly node: NodeSettings
}

export async function readNodeMachine(options: NodeMachineOptions): Promise<NodeMachine> {
  const { linux, node } = options
  const { memoryBytes, processors, cgroupVersion } = linux.machine
  const [hugePages, maskedPaths, canLimitSwap, space] = await Promise.all([
    readHugePages(options),
    findMaskedPaths(options),
    findSwapControl(options),
    linux.files.space(node.folder),
  ])
  const { totalBytes: storageBytes } = space
  const capacity = planCapacity({ processors, memoryBytes, storageBytes, podsMax: node.podsMax, hugePages })
  return {
    memoryBytes,
    cgroupVersion,
    canLimitSwap,
    hugePageSizes: hugePages.map(({ sizeBytes }) => pageSizeText(sizeBytes)),
    maskedPaths,
    capacity,
    allocatable: planAllocatable(capacity, node),
  }
}

/** What all pods together may use, for `PodCgroups.start`: what there is but for what is kept from them. */
export function nodeShare({ capacity }: NodeMachine, { reserved }: NodeSettings): NodeShare {
  const pids = wholeAmount(reserved, 'pid')
  return {
    cpuMilli: milliAmount(capacity, 'cpu') - milliAmount(reserved, 'cpu'),
    memoryBytes: wholeAmount(capacity, 'memory') - wholeAmount(reserved, 'memory'),
    pids: pids === 0 ? -1 : processesMax - pids,
  }
}

export interface NodeShare {
  readonly cpuMilli: number
  readonly memoryBytes: number
  /** -1 when not limited. */
  readonly pids: number
}

/** What 64-bit kernels take at most. */
const processesMax = 4_194_304

const hugePagesFolder = '/sys/kernel/mm/hugepages'

async function readHugePages({ platform: { files } }: NodeMachineOptions): Promise<readonly HugePages[]> {
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

/** Heat of processors tells what others do on the machine. */
async function findMaskedPaths({ platform: { files } }: NodeMachineOptions): Promise<readonly string[]> {
  const names = await files.list(processorsFolder).catch(() => [])
  const paths = names
    .filter(name => /^cpu[0-9]+$/.test(name))
    .map(name => join(processorsFolder, name, 'thermal_throttle'))
  const found = await Promise.all(paths.map(path => files.stat(path)))
  return paths.filter((_, index) => found[index] !== undefined)
}

/** In version 2 the topmost group has no such file, so that one below it is looked at. */
async function findSwapControl({ platform: { files }, linux }: NodeMachineOptions): Promise<boolean> {
  if (linux.machine.cgroupVersion === 1) {
    return (await files.stat('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes')) !== undefined
  }
  const own = await files.read('/proc/self/cgroup').catch(() => new Uint8Array())
  const [, path = '/'] = /^0::(.*)$/m.exec(new TextDecoder().decode(own)) ?? []
  return (await files.stat(join('/sys/fs/cgroup', path, 'memory.swap.max'))) !== undefined
}
