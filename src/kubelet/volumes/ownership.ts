/** Makes a volume the group's, with `fsGroup` of the pod's security context. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { LinuxFiles, LinuxFileStatus } from '#/platform/linux.ts'

export interface GroupRequest {
  readonly files: LinuxFiles
  readonly folder: string
  readonly pod: Pod
  /** The group may read and not write. */
  readonly isReadonly: boolean
  /** The pod's `fsGroupChangePolicy` counts: only for volumes that outlive it. */
  readonly respectsPolicy: boolean
  readonly signal: AbortSignal
}

export function fsGroupOf({ spec }: Pod): number | undefined {
  const { fsGroup } = spec?.securityContext ?? {}
  return fsGroup === undefined ? undefined : Number(fsGroup)
}

/** Links themselves get the group, what they lead to does not. What refuses is left as it is. */
export async function setGroup(request: GroupRequest): Promise<void> {
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

/** What the group may do is added to what others may do already; new files in a folder are the group's too. */
export function groupMode(
  { type, mode }: Pick<LinuxFileStatus, 'type' | 'mode'>,
  isReadonly: boolean,
): number {
  const added = isReadonly ? 0o440 : 0o660
  return type === 'folder' ? mode | added | 0o2110 : mode | added
}

/** Whether a folder, and so probably what is in it, is the group's already. */
export function hasGroup(status: LinuxFileStatus, group: number, isReadonly: boolean): boolean {
  return status.type === 'folder' && status.gid === group && groupMode(status, isReadonly) === status.mode
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && refusals.includes(String(error.code))
}

const refusals: readonly string[] = ['EPERM', 'EROFS', 'EACCES', 'EOPNOTSUPP', 'ELOOP', 'ENOENT']
