/**
 * Protects this process, and the container runtime that it starts, from pods that use up the memory of the machine: the
 * kernel kills them last, and does not reclaim the memory that they need to work. Child processes inherit both.
 */
import { dirname, join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export interface ProtectFromOutOfMemoryOptions {
  readonly platform: { readonly log: Platform['log']; readonly files: Pick<Platform['files'], 'read'> }
  readonly linux: {
    readonly machine: Pick<Linux['machine'], 'cgroupVersion' | 'memoryBytes'>
    readonly files: Pick<Linux['files'], 'makeFolderUnsynced' | 'writeInPlace'>
  }
  /** Parent of all cgroups of the cluster. */
  readonly cgroupRoot: string
}

/** As upstream for the kubelet: containers have higher scores. */
const oomScore = -999

/** Protected memory: a share of the machine's, at most this much. */
const protectedShare = 0.1
const protectedBytesMax = 1024 ** 3

/** Where the kernel or the container that k8ts runs in forbids it, everything works without protection. */
export async function protectFromOutOfMemory(options: ProtectFromOutOfMemoryOptions): Promise<void> {
  const { platform, linux } = options
  const steps = [
    linux.files.writeInPlace('/proc/self/oom_score_adj', String(oomScore)),
    ...(linux.machine.cgroupVersion === 2 ? [joinProtectedCgroup(options)] : []),
  ]
  for (const result of await Promise.allSettled(steps)) {
    if (result.status === 'rejected')
      platform.log.debug('Failed to protect k8ts from running out of memory', {
        error: result.reason as unknown,
      })
  }
}

/**
 * Only cgroup v2 protects memory (`memory.min`). A cgroup is protected as far as its parent is, so both are. The cgroup
 * beside that of the pods is needed because a cgroup with children cannot contain processes. A process whose memory or
 * CPU is limited, such as by a systemd unit, stays where it is, because it would leave its limits behind.
 */
async function joinProtectedCgroup(options: ProtectFromOutOfMemoryOptions): Promise<void> {
  const { linux, cgroupRoot } = options
  const { files, machine } = linux
  if (await isLimited(options)) return
  const bytes = String(Math.min(protectedBytesMax, Math.floor(machine.memoryBytes * protectedShare)))
  const parent = join(mountPoint, cgroupRoot)
  const own = join(parent, 'system')
  for (const folder of [parent, own]) {
    await files.writeInPlace(join(folder, '..', 'cgroup.subtree_control'), '+memory')
    await files.makeFolderUnsynced(folder, 0o755)
    await files.writeInPlace(join(folder, 'memory.min'), bytes)
  }
  // 0 is the process that writes.
  await files.writeInPlace(join(own, 'cgroup.procs'), '0')
}

const mountPoint = '/sys/fs/cgroup'

/** True if the cgroup of this process or a parent limits memory or CPU. */
async function isLimited({ platform: { files } }: ProtectFromOutOfMemoryOptions): Promise<boolean> {
  const read = async (path: string): Promise<string> => Buffer.from(await files.read(path)).toString()
  const [, own = '/'] = /^0::(.*)$/m.exec(await read('/proc/self/cgroup')) ?? []
  for (let path = own; path !== '/'; path = dirname(path)) {
    for (const file of ['memory.max', 'cpu.max']) {
      const limit = await read(join(mountPoint, path, file)).catch(() => 'max')
      if (!limit.startsWith('max')) return true
    }
  }
  return false
}
