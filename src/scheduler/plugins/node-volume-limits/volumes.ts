import { annotationOf } from '#/api/annotations.ts'
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#/api/generated/core/v1.ts'
import type { CSINode, StorageClass, VolumeAttachment } from '#/api/generated/storage/v1.ts'
import { inTreeVolumeOf, csiDriverByInTreePlugin } from '#/api/in-tree-storage.ts'
import { formatKey } from '#/api/metadata.ts'
import { ephemeralClaimName, isClaimForPod } from '#/api/pod-volumes.ts'
import { quote } from '#/api/quote.ts'
import { storageClassOf } from '#/api/storage-classes.ts'
import type { Refusal } from '../../framework.ts'

export interface VolumesWorld {
  readonly claim: (key: string) => PersistentVolumeClaim | undefined
  readonly volume: (name: string) => PersistentVolume | undefined
  readonly storageClass: (name: string) => StorageClass | undefined
  readonly attachedTo: (node: string) => readonly VolumeAttachment[]
}

/** A CSI volume, or an in-tree volume that is migrated to a CSI driver on some nodes. */
export type AttachableVolume =
  | { readonly driver: string; readonly handle: string }
  | { readonly plugin: string; readonly handle: string }

/** True if a pod volume may be attachable. */
export function isAttachable(volume: Volume): boolean {
  return (
    volume.persistentVolumeClaim !== undefined ||
    volume.ephemeral !== undefined ||
    inTreeVolumeOf(volume) !== undefined
  )
}

/** The volumes to attach for a pod; a refusal if they cannot be determined. */
export function attachableVolumes(pod: Pod, world: VolumesWorld): readonly AttachableVolume[] | Refusal {
  const namespace = pod.metadata?.namespace ?? ''
  const volumes: AttachableVolume[] = []
  for (const volume of pod.spec?.volumes ?? []) {
    const { persistentVolumeClaim, ephemeral } = volume
    const name = persistentVolumeClaim?.claimName ?? (ephemeral && ephemeralClaimName(pod, volume.name))
    const disk = inTreeVolumeOf(volume)
    if (disk !== undefined) volumes.push({ plugin: disk.plugin, handle: disk.id })
    if (name === undefined) continue
    const key = formatKey({ namespace, name })
    const claim = world.claim(key)
    if (claim === undefined) {
      const reason = `looking up PVC ${key}: persistentvolumeclaim ${quote(name)} not found`
      return { reason, isFinal: true }
    }
    if (ephemeral && !isClaimForPod(claim, pod)) {
      const owner = `${namespace}/${pod.metadata?.name}`
      return { reason: `PVC ${key} was not created for pod ${owner} (pod is not owner)`, isFinal: true }
    }
    const attachable = volumeOf(claim, key, world)
    if (attachable !== undefined) volumes.push(attachable)
  }
  return volumes
}

/** An unbound claim counts as a new volume of its class. */
function volumeOf(
  claim: PersistentVolumeClaim,
  key: string,
  { volume: find, storageClass }: VolumesWorld,
): AttachableVolume | undefined {
  const volume = claim.spec?.volumeName ? find(claim.spec.volumeName) : undefined
  if (volume === undefined) {
    const provisioner = storageClass(storageClassOf(claim))?.provisioner
    if (provisioner === undefined) return undefined
    const handle = `claim ${key}`
    return csiDriverByInTreePlugin.has(provisioner)
      ? { plugin: provisioner, handle }
      : { driver: provisioner, handle }
  }
  const { spec = {} } = volume
  if (spec.csi) return { driver: spec.csi.driver, handle: spec.csi.volumeHandle }
  const disk = inTreeVolumeOf(spec)
  return disk && { plugin: disk.plugin, handle: disk.id }
}

const migratedPlugins = 'storage.alpha.kubernetes.io/migrated-plugins'

/**
 * The driver and unique name of a volume on a node; undefined if the in-tree plugin is not migrated there.
 */
export function nameOn(
  volume: AttachableVolume,
  csiNode: CSINode,
): { readonly driver: string; readonly name: string } | undefined {
  if ('driver' in volume) return { driver: volume.driver, name: `${volume.driver}/${volume.handle}` }
  const driver = csiDriverByInTreePlugin.get(volume.plugin)
  const isMigrated = annotationOf(csiNode, migratedPlugins)?.split(',').includes(volume.plugin)
  return driver === undefined || !isMigrated ? undefined : { driver, name: `${driver}/${volume.handle}` }
}
