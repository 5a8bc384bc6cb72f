/** hostPath volumes of pods and persistent volumes. */
import type { HostPathVolumeSource } from '#/api/generated/core/v1.ts'
import type { LinuxFileType } from '#/platform/linux.ts'
import type { VolumePlugin, VolumeRequest } from './volume-plugin.ts'

export const hostPath: VolumePlugin = {
  async setUp(request) {
    const { volume, persistentVolume, isReadonly } = request
    const source = persistentVolume?.spec?.hostPath ?? volume.hostPath ?? { path: '' }
    if (source.path.split('/').includes('..')) {
      throw new Error(`invalid HostPath \`${source.path}\`: must not contain '..'`)
    }
    await check(request, source)
    return { name: volume.name, hostPath: source.path, readonly: isReadonly }
  },
}

interface Check {
  readonly type: LinuxFileType
  /** Name in error messages. */
  readonly words: string
  readonly make?: (request: VolumeRequest, path: string) => Promise<void>
}

const folder: Check = { type: 'folder', words: 'directory' }
const file: Check = { type: 'file', words: 'file' }

const checks: Readonly<Record<string, Check>> = {
  Directory: folder,
  DirectoryOrCreate: { ...folder, make: makeFolder },
  File: file,
  FileOrCreate: { ...file, make: makeFile },
  Socket: { type: 'socket', words: 'socket file' },
  CharDevice: { type: 'character-device', words: 'character device' },
  BlockDevice: { type: 'block-device', words: 'block device' },
}

async function check(request: VolumeRequest, { path, type = '' }: HostPathVolumeSource): Promise<void> {
  if (type === '') return
  const wanted = checks[type]
  if (wanted === undefined) throw new Error(`${type} is an invalid volume type`)
  const found = await request.linux.files.stat(path)
  if (found === undefined && wanted.make) await wanted.make(request, path)
  else if (found?.type !== wanted.type) {
    throw new Error(`hostPath type check failed: ${path} is not a ${wanted.words}`)
  }
}

const provisionedBy = 'pv.kubernetes.io/provisioned-by'
const ownProvisioner = 'k8ts.io/host-path'

/** Directories of our own provisioner are world-writable, because the pod may not run as root. */
async function makeFolder({ platform, persistentVolume }: VolumeRequest, path: string): Promise<void> {
  const isClaimed = persistentVolume?.metadata.annotations?.[provisionedBy] === ownProvisioner
  await platform.files.makeFolder(path, { mode: isClaimed ? 0o777 : 0o755 })
}

/** Leaves a file that was created concurrently unchanged. */
async function makeFile({ platform }: VolumeRequest, path: string): Promise<void> {
  await using _ = await platform.files.openAppend(path, { mode: 0o644 })
}
