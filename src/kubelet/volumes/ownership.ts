/** Applies `fsGroup` of the pod's security context to a volume. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { LinuxFiles, LinuxFileStatus } from '#/platform/linux.ts'

export interface VolumeOwnershipRequest {
  readonly files: LinuxFiles
  readonly folder: string
  readonly pod: Pod
  /** The group gets read access only. */
  readonly isReadonly: boolean
  /** Honor `fsGroupChangePolicy`, for volumes that outlive the pod. */
  readonly respectsPolicy: boolean
  readonly signal: AbortSignal
}

export function fsGroupOf({ spec }: Pod): number | undefined {
  const { fsGroup } = spec?.securityContext ?? {}
  return fsGroup === undefined ? undefined : Number(fsGroup)
}

/** Symlinks are changed, not their targets. Files that cannot be changed are skipped. */
export async function setVolumeOwnership(request: VolumeOwnershipRequest): Promise<void> {
  const { files, folder, pod, isReadonly, respectsPolicy, signal } = request
  const group = fsGroupOf(pod)
  if (group === undefined) return
  const root = await files.lstat(folder)
  const policy = pod.spec?.securityContext?.fsGroupChangePolicy
  if (respectsPolicy && policy === 'OnRootMismatch' && root && hasGroup(root, group, isReadonly)) return
  await files.visitBeneath(
    folder,
    async (path, status) => {
      try {
        await files.chown(path, -1, group)
        if (status.type !== 'link') await files.chmod(path, groupMode(status, isReadonly))
      } catch (error) {
        if (!isRefusal(error)) throw error
      }
    },
    signal,
  )
}

/** Adds group permissions to the mode; directories get setgid. */
export function groupMode(
  { type, mode }: Pick<LinuxFileStatus, 'type' | 'mode'>,
  isReadonly: boolean,
): number {
  const added = isReadonly ? 0o440 : 0o660
  return type === 'folder' ? mode | added | 0o2110 : mode | added
}

/** True if the directory, and thus probably its content, has the group already. */
export function hasGroup(status: LinuxFileStatus, group: number, isReadonly: boolean): boolean {
  return status.type === 'folder' && status.gid === group && groupMode(status, isReadonly) === status.mode
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && refusals.includes(String(error.code))
}

const refusals: readonly string[] = ['EPERM', 'EROFS', 'EACCES', 'EOPNOTSUPP', 'ELOOP', 'ENOENT']
