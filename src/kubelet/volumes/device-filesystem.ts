/** Mounts the filesystem on a device of the node, and makes one first where there is none. */
import { messageOf } from '#/base/message-of.ts'
import type { Linux } from '#/platform/linux.ts'

export interface DeviceMount {
  readonly linux: Linux
  readonly device: string
  readonly target: string
  /** `ext4`, `xfs`: what is made, and what must be there already. */
  readonly type: string
  readonly isReadonly: boolean
  readonly mountOptions: readonly string[]
}

/** Making a large filesystem, or checking one, takes a while. */
const timeoutMs = 600_000

/** What `fsck` ends with when it found errors and could not correct them. */
const uncorrected = 4

export async function mountDevice(mount: DeviceMount): Promise<void> {
  const { linux, device, target, type, isReadonly, mountOptions } = mount
  if ((await linux.mounts.list()).some(({ path }) => path === target)) return
  const found = await contentOf(linux, device)
  if (found === '') {
    if (isReadonly)
      throw new Error('cannot mount unformatted disk as we are manipulating it in read-only mode')
    await makeFilesystem(linux, device, type)
  } else if (found === type && !isReadonly) await checkFilesystem(linux, device)
  await linux.files.makeFolderUnsynced(target, 0o750)
  const flags = ['defaults', ...(isReadonly ? ['ro'] : []), ...mountOptions]
  try {
    await linux.mounts.mount({ source: device, target, type, flags })
  } catch (error) {
    await linux.files.removeFolder(target)
    if (found === '' || found === type) throw error
    const reason = messageOf(error)
    throw new Error(
      `failed to mount the volume as "${type}", it already contains ${found}. Mount error: ${reason}`,
      { cause: error },
    )
  }
}

/** The type of the filesystem, or of what else is on the device, which must not be written over. Empty for nothing. */
async function contentOf(linux: Linux, device: string): Promise<string> {
  const nothing = 2
  try {
    const said = await linux.run(['blkid', '-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device])
    const [, filesystem] = /^TYPE=(.*)$/m.exec(said) ?? []
    if (filesystem) return filesystem
    return /^PTTYPE=/m.test(said) ? 'unknown data, probably partitions' : ''
  } catch (error) {
    if (exitCodeOf(error) === nothing) return ''
    throw error
  }
}

/** Nothing is held back for root, and what is known to be empty is not written. */
async function makeFilesystem(linux: Linux, device: string, type: string): Promise<void> {
  const options = type === 'ext3' || type === 'ext4' ? ['-F', '-m0'] : type === 'xfs' ? ['-f'] : []
  await linux.run([`mkfs.${type}`, ...options, device], { timeoutMs })
}

async function checkFilesystem(linux: Linux, device: string): Promise<void> {
  try {
    await linux.run(['fsck', '-a', device], { timeoutMs })
  } catch (error) {
    // Anything else is either mended or is found out by the mount.
    if (exitCodeOf(error) !== uncorrected) return
    const reason = messageOf(error)
    throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${reason}`, {
      cause: error,
    })
  }
}

function exitCodeOf(error: unknown): unknown {
  return error instanceof Error && 'exitCode' in error ? error.exitCode : undefined
}
