/**
 * Local persistent volumes: a directory, a block device with a filesystem (created if missing), or a raw
 * block device.
 */
import { messageOf } from '#/base/message-of.ts'
import { basename, join } from 'node:path'
import { quote } from '#/api/text/quote.ts'
import { podsFolder } from '../pod-paths.ts'
import { mountDevice } from './device-filesystem.ts'
import { setVolumeOwnership } from './ownership.ts'
import {
  VolumeStepError,
  type MountedVolume,
  type VolumePlugin,
  type VolumeRequest,
} from './volume-plugin.ts'
import { deviceMountsFolder, volumeFolder } from './volume-paths.ts'

const kind = 'local-volume'

export const local: VolumePlugin = {
  usage: 'filesystem',
  setUp(request) {
    const { persistentVolume, locks } = request
    const isBlock = persistentVolume?.spec?.volumeMode === 'Block'
    // Serialized, so that two pods do not format the device concurrently.
    return locks.run(nameOf(request), () => (isBlock ? prepareDevice(request) : prepareFolder(request)))
  },
}

async function prepareDevice(request: VolumeRequest): Promise<MountedVolume> {
  const { volume, isReadonly } = request
  const path = pathOf(request)
  const status = await request.linux.files.stat(path)
  if (status?.type !== 'block-device') {
    throw new VolumeStepError('MapVolume.MapBlockVolume failed', `${path} is not a block device`)
  }
  return { name: volume.name, hostPath: path, readonly: isReadonly, isBlock: true }
}

async function prepareFolder(request: VolumeRequest): Promise<MountedVolume> {
  const { node, pod, volume, persistentVolume, linux, isReadonly, signal } = request
  const hostPath = volumeFolder({ node, pod, kind, name: nameOf(request) })
  const prepared = { name: volume.name, hostPath, readonly: isReadonly, selinuxRelabel: !isReadonly }
  const source = await sourceFolder(request)
  const mounted = await linux.mounts.list()
  if (mounted.some(({ path }) => path === hostPath)) return prepared
  await linux.files.makeFolderUnsynced(hostPath, 0o750)
  const flags = ['bind', ...(isReadonly ? ['ro'] : []), ...(persistentVolume?.spec?.mountOptions ?? [])]
  await linux.mounts.mount({ source, target: hostPath, type: 'none', flags })
  const isShared = mounted.some(({ path }) => isOfPod(request, path))
  if (!isReadonly && !isShared) {
    await setVolumeOwnership({
      files: linux.files,
      folder: hostPath,
      pod,
      isReadonly,
      respectsPolicy: true,
      signal,
    })
  }
  return prepared
}

/** True if the path is a mount of this volume for a pod. */
function isOfPod(request: VolumeRequest, path: string): boolean {
  return (
    path.startsWith(`${podsFolder(request.node)}/`) &&
    path.endsWith(`/volumes/kubernetes.io~${kind}/${nameOf(request)}`)
  )
}

async function sourceFolder(request: VolumeRequest): Promise<string> {
  const { linux, node, persistentVolume, isReadonly } = request
  const path = pathOf(request)
  if (path.split('/').includes('..')) throw new Error(`invalid path: ${path} must not contain '..'`)
  const status = await linux.files.stat(path)
  const refuse = (message: string): never => {
    throw new VolumeStepError('MountVolume.NewMounter initialization failed', message)
  }
  if (status === undefined) return refuse(`path ${quote(path)} does not exist`)
  if (status.type === 'folder') return path
  if (status.type !== 'block-device') return refuse('only directory and block device are supported')
  const target = join(deviceMountsFolder(node), nameOf(request))
  const { mountOptions = [], local: source } = persistentVolume?.spec ?? {}
  const type = source?.fsType || 'ext4'
  try {
    await mountDevice({ linux, device: path, target, type, isReadonly, mountOptions })
  } catch (error) {
    const reason = messageOf(error)
    throw new VolumeStepError(
      'MountVolume.MountDevice failed',
      `local: failed to mount device ${path} at ${target} (fstype: ${type}), error ${reason}`,
      { cause: error },
    )
  }
  return target
}

function pathOf({ persistentVolume }: VolumeRequest): string {
  return persistentVolume?.spec?.local?.path ?? ''
}

function nameOf({ persistentVolume }: VolumeRequest): string {
  return persistentVolume?.metadata.name ?? ''
}

/** Unmounts device filesystems that no pod uses. */
export async function unmountUnused({
  node,
  linux,
  locks,
}: Pick<VolumeRequest, 'node' | 'linux' | 'locks'>): Promise<void> {
  const folder = deviceMountsFolder(node)
  const isDevice = (path: string): boolean => path.startsWith(`${folder}/`)
  for (const { path } of (await linux.mounts.list()).filter(each => isDevice(each.path))) {
    const name = basename(path)
    await locks.run(name, async () => {
      const end = `/volumes/kubernetes.io~${kind}/${name}`
      const mounted = await linux.mounts.list()
      if (mounted.some(each => each.path.startsWith(`${podsFolder(node)}/`) && each.path.endsWith(end)))
        return
      await linux.mounts.unmount(path)
      await linux.files.removeFolder(path)
    })
  }
}
