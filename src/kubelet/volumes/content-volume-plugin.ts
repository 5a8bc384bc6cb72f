/** Volume types with content from the API, which is kept up to date. Read-only for pods. */
import { messageOf } from '#/base/message-of.ts'
import { aggregateMessage, equalPayloads, type Payload, type PayloadFile } from './payload.ts'
import { hasContent, writeAtomically } from './atomic-writer.ts'
import { makeEmptyFolder } from './empty-dir.ts'
import { nestedMountPoints } from './volume-mounts.ts'
import { setVolumeOwnership } from './ownership.ts'
import type { MountedVolume, VolumePlugin, VolumeRequest } from './volume-plugin.ts'
import { volumeFolder } from './volume-paths.ts'

export interface ContentVolume {
  /** Kubernetes' name of the type, such as `secret`. */
  readonly kind: string
  /** Secrets are never stored on disk. */
  readonly medium: '' | 'Memory'
  readonly collect: (request: VolumeRequest) => Promise<Payload>
}

export function contentVolumePlugin({ kind, medium, collect }: ContentVolume): VolumePlugin {
  return {
    isContent: true,
    usage: 'files',
    async reconstruct(request) {
      const { linux, node, pod, volume } = request
      const isThere = await hasContent(linux, volumeFolder({ node, pod, kind, name: volume.name }))
      return isThere ? preparedOf(request, kind) : undefined
    },
    async setUp(request) {
      const { platform, linux, pod, volume, written, signal } = request
      const prepared = preparedOf(request, kind)
      const folder = prepared.hostPath
      const payload = await collect(request)
      const before = written.get(volume.name)
      if (before && equalPayloads(before, payload)) return prepared
      await makeEmptyFolder(request, folder, { medium })
      for (const path of nestedMountPoints(pod, volume.name)) {
        await linux.files.makeFoldersBeneath(folder, path, 0o755)
      }
      const setOwners = (): Promise<void> =>
        setVolumeOwnership({
          files: linux.files,
          folder,
          pod,
          isReadonly: true,
          respectsPolicy: false,
          signal,
        })
      await writeAtomically({ platform, linux, folder, payload, setOwners })
      written.set(volume.name, payload)
      return prepared
    },
  }
}

function preparedOf({ node, pod, volume: { name } }: VolumeRequest, kind: string): MountedVolume {
  return { name, hostPath: volumeFolder({ node, pod, kind, name }), readonly: true, selinuxRelabel: true }
}

/** Merges several sources: later ones win, and all errors are reported. */
export async function mergePayloads(
  sources: readonly (() => Promise<Payload> | Payload)[],
): Promise<Payload> {
  const merged = new Map<string, PayloadFile>()
  const messages: string[] = []
  for (const source of sources) {
    try {
      for (const [path, file] of await source()) merged.set(path, file)
    } catch (error) {
      messages.push(messageOf(error))
    }
  }
  if (messages.length > 0) throw new Error(aggregateMessage(messages))
  return merged
}
