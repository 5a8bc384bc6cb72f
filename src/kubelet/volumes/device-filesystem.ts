/** Mounts the filesystem of a block device, formatting the device if it is empty. */
import type { Linux } from '#/platform/linux.ts'

export interface DeviceMount {
  readonly linux: Linux
  readonly device: string
  readonly target: string
  /** `ext4` or `xfs`: the type to create, or the expected existing type. */
  readonly type: string
  readonly isReadonly: boolean
  readonly mountOptions: readonly string[]
}

/** Timeout for formatting and checking large filesystems. */
const timeoutMs = 600_000

/** Exit code of `fsck` for errors left uncorrected. */
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
    throw new Error(
      `failed to mount the volume as "${type}", it already contains ${found}. Mount error: ${textOf(error)}`,
      { cause: error },
    )
  }
}

/** Type of the filesystem or of other content, which must not be overwritten. Empty if there is none. */
async function contentOf(linux: Linux, device: string): Promise<string> {
  const nothing = 2
  try {
    const output = await linux.run(['blkid', '-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device])
    const [, filesystem] = /^TYPE=(.*)$/m.exec(output) ?? []
    if (filesystem) return filesystem
    return /^PTTYPE=/m.test(output) ? 'unknown data, probably partitions' : ''
  } catch (error) {
    if (exitCodeOf(error) === nothing) return ''
    throw error
  }
}

/** ext filesystems get no blocks reserved for root. */
async function makeFilesystem(linux: Linux, device: string, type: string): Promise<void> {
  const options = type === 'ext3' || type === 'ext4' ? ['-F', '-m0'] : type === 'xfs' ? ['-f'] : []
  const program = `mkfs.${type}`
  try {
    await linux.run([program, ...options, device], { timeoutMs })
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const reason = isMissing ? `${program} is not installed on this node${packageOf(type)}` : textOf(error)
    throw new Error(`format of disk "${device}" failed: ${reason}`, { cause: error })
  }
}

/** Distributions agree on these names. */
function packageOf(type: string): string {
  const name = /^ext[234]$/.test(type) ? 'e2fsprogs' : type === 'xfs' ? 'xfsprogs' : undefined
  return name === undefined ? '' : `: install the package ${name}`
}

async function checkFilesystem(linux: Linux, device: string): Promise<void> {
  try {
    await linux.run(['fsck', '-a', device], { timeoutMs })
  } catch (error) {
    // Other errors were corrected, or the mount will fail.
    if (exitCodeOf(error) !== uncorrected) return
    throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${textOf(error)}`, {
      cause: error,
    })
  }
}

function exitCodeOf(error: unknown): unknown {
  return error instanceof Error && 'exitCode' in error ? error.exitCode : undefined
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
