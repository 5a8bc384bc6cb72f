/** What a pod's volumes take of the node, for its statistics. */
import { ephemeralClaimName } from '#/api/pod-volumes.ts'
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import type { FilesystemSpace, Linux } from '#/platform/linux.ts'
import type { PreparedVolume, VolumeKind } from './volume-kind.ts'

export interface VolumeUsage {
  readonly name: string
  readonly usedBytes: number
  readonly usedInodes: number
  /** Of the filesystem that it is on. */
  readonly space: FilesystemSpace
  /** The claim that it is of. */
  readonly claim?: { readonly namespace: string; readonly name: string }
  /** It is on the node's disk and gone with the pod: it counts as the pod's own. */
  readonly isEphemeral: boolean
}

export interface UsageRequest {
  readonly linux: Linux
  readonly pod: Pod
  readonly volume: Volume
  readonly prepared: PreparedVolume
  readonly usage: NonNullable<VolumeKind['usage']>
  readonly signal?: AbortSignal | undefined
}

export async function volumeUsage(request: UsageRequest): Promise<VolumeUsage> {
  const { linux, pod, volume, prepared, usage, signal } = request
  const space = await linux.files.space(prepared.hostPath)
  const used =
    usage === 'files'
      ? await linux.files.usage(prepared.hostPath, signal)
      : { bytes: space.totalBytes - space.availableBytes, inodes: space.totalInodes - space.freeInodes }
  const claim = claimOf(pod, volume)
  return {
    name: volume.name,
    usedBytes: used.bytes,
    usedInodes: used.inodes,
    space,
    isEphemeral: isEphemeral(volume),
    ...(claim !== undefined && { claim }),
  }
}

function claimOf(pod: Pod, volume: Volume): VolumeUsage['claim'] {
  const namespace = pod.metadata?.namespace ?? ''
  const { persistentVolumeClaim, ephemeral, name } = volume
  if (persistentVolumeClaim) return { namespace, name: persistentVolumeClaim.claimName }
  return ephemeral && { namespace, name: ephemeralClaimName(pod, name) }
}

function isEphemeral({ emptyDir, configMap, gitRepo }: Volume): boolean {
  return configMap !== undefined || gitRepo !== undefined || (emptyDir !== undefined && !emptyDir.medium)
}
