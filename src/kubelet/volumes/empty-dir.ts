/** emptyDir volumes on disk, in memory or in huge pages; removed with the pod. */
import { dirname } from 'node:path'
import type { EmptyDirVolumeSource } from '#/api/generated/core/v1.ts'
import { isHugePageMedium, memorySizeOf, pageSizeOf } from './memory-size.ts'
import { setVolumeOwnership } from './ownership.ts'
import type { VolumePlugin, VolumeRequest } from './volume-plugin.ts'
import { readyPath, volumeFolder } from './volume-paths.ts'

const kind = 'empty-dir'

export const emptyDir: VolumePlugin = {
  usage: 'files',
  async setUp(request) {
    const { pod, volume, node, linux, signal } = request
    const hostPath = volumeFolder({ node, pod, kind, name: volume.name })
    const prepared = { name: volume.name, hostPath, readonly: false, selinuxRelabel: true }
    const ready = readyPath({ node, pod, kind, name: volume.name })
    const isMade = await makeEmptyFolder(request, hostPath, volume.emptyDir ?? {})
    if (!isMade && (await linux.files.lstat(ready)) !== undefined) return prepared
    await setVolumeOwnership({
      files: linux.files,
      folder: hostPath,
      pod,
      isReadonly: false,
      respectsPolicy: false,
      signal,
    })
    await linux.files.makeFolderUnsynced(dirname(ready), 0o750)
    await linux.files.writeUnsynced(ready, '', 0o644)
    return prepared
  },
}

/** World-writable: access is limited by the pods that mount it. Returns true if anything was created. */
export async function makeEmptyFolder(
  request: VolumeRequest,
  folder: string,
  { medium = '', sizeLimit }: EmptyDirVolumeSource,
): Promise<boolean> {
  const { linux, pod, allocatable } = request
  const isThere = (await linux.files.lstat(folder)) !== undefined
  if (!isThere) await linux.files.makeFolderUnsynced(folder, 0o777)
  if (medium === '') return !isThere
  if (await isMounted(request, folder)) return false
  if (isHugePageMedium(medium)) {
    const flags = [`pagesize=${pageSizeOf(pod, medium)}`]
    await linux.mounts.mount({ source: 'nodev', target: folder, type: 'hugetlbfs', flags })
  } else if (medium === 'Memory') {
    await mountMemory(request, folder, memorySizeOf(pod, sizeLimit, allocatable()))
  } else {
    throw new Error(`unknown storage medium "${medium}"`)
  }
  return true
}

async function isMounted({ linux }: VolumeRequest, folder: string): Promise<boolean> {
  return (await linux.mounts.list()).some(({ path }) => path === folder)
}

/** Disables swap if the kernel supports it, because secrets must not reach a disk. */
async function mountMemory(
  { linux }: VolumeRequest,
  target: string,
  sizeBytes: number | undefined,
): Promise<void> {
  const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`]
  const mount = (flags: readonly string[]): Promise<void> =>
    linux.mounts.mount({ source: 'tmpfs', target, type: 'tmpfs', flags })
  if (linux.machine.swapBytes === 0) return mount(size)
  return mount([...size, 'noswap']).catch(() => mount(size))
}
