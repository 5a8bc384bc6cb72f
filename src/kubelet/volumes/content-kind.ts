/** Kinds of volumes that hold copies of what the API knows, and are kept as it is. Pods can only read them. */
import { messageOf } from '#/base/message-of.ts'
import { aggregateMessage, equalPayloads, type Payload, type PayloadFile } from './payload.ts'
import { hasContent, writeAtomically } from './atomic-content.ts'
import { makeEmptyFolder } from './empty-dir.ts'
import { nestedMountPoints } from './nested-mount-points.ts'
import { setGroup } from './ownership.ts'
import type { PreparedVolume, VolumeKind, VolumeRequest } from './volume-kind.ts'
import { volumeFolder } from './volume-paths.ts'

export interface ContentKind {
  /** The name by which Kubernetes knows the kind: `secret`. */
  readonly kind: string
  /** What is secret is never on a disk. */
  readonly medium: '' | 'Memory'
  readonly collect: (request: VolumeRequest) => Promise<Payload>
}

export function contentKind({ kind, medium, collect }: ContentKind): VolumeKind {
  return {
    isContent: true,
    usage: 'files',
    async adopt(request) {
      const { linux, node, pod, volume } = request
      const isThere = await hasContent(linux, volumeFolder(node, pod, kind, volume.name))
      return isThere ? preparedOf(request, kind) : undefined
    },
    async prepare(request) {
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
        setGroup({ files: linux.files, folder, pod, isReadonly: true, respectsPolicy: false, signal })
      await writeAtomically({ platform, linux, folder, payload, setOwners })
      written.set(volume.name, payload)
      return prepared
    },
  }
}

function preparedOf({ node, pod, volume: { name } }: VolumeRequest, kind: string): PreparedVolume {
  return { name, hostPath: volumeFolder(node, pod, kind, name), readonly: true, selinuxRelabel: true }
}

/** Several sources in one volume: later ones win, and all that fail are told. */
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
