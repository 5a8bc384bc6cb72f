/** Disk usage of a pod's volumes, for stats. */
import { ephemeralClaimName } from '#/api/core/pod-volumes.ts'
import type { Volume } from '#/api/generated/core/v1.ts'
import type { FilesystemSpace, Linux } from '#/platform/linux.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { MountedVolume, VolumePlugin } from './volume-plugin.ts'

export interface VolumeUsage {
  readonly name: string
  readonly usedBytes: number
  readonly usedInodes: number
  /** Of the filesystem that contains it. */
  readonly space: FilesystemSpace
  /** Claim of the volume. */
  readonly claim?: { readonly namespace: string; readonly name: string }
  /** On the node's disk and removed with the pod: counts as the pod's ephemeral storage. */
  readonly isEphemeral: boolean
}

export interface UsageRequest {
  readonly linux: Linux
  readonly pod: KubeletPod
  readonly volume: Volume
  readonly mounted: MountedVolume
  readonly usage: NonNullable<VolumePlugin['usage']>
  readonly signal?: AbortSignal | undefined
}

export async function volumeUsage(request: UsageRequest): Promise<VolumeUsage> {
  const { linux, pod, volume, mounted, usage, signal } = request
  const space = await linux.files.space(mounted.hostPath)
  const used =
    usage === 'files'
      ? await linux.files.usage(mounted.hostPath, signal)
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

function claimOf(pod: KubeletPod, volume: Volume): VolumeUsage['claim'] {
  const namespace = pod.metadata.namespace
  const { persistentVolumeClaim, ephemeral, name } = volume
  if (persistentVolumeClaim) return { namespace, name: persistentVolumeClaim.claimName }
  return ephemeral && { namespace, name: ephemeralClaimName(pod, name) }
}

/** On the node's disk and removed with the pod. */
export function isEphemeral({ emptyDir, configMap, gitRepo }: Volume): boolean {
  return configMap !== undefined || gitRepo !== undefined || (emptyDir !== undefined && !emptyDir.medium)
}
