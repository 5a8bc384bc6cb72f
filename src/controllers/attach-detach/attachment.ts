/** Names that identify a volume to the controller, the kubelet and the external attachers. */
import { createHash } from 'node:crypto'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'

export interface CsiVolume {
  readonly driver: string
  readonly handle: string
}

const uniquePrefix = 'kubernetes.io/csi/'
const separator = '^'

/** Undefined if the volume is not a CSI volume: only those are attached. */
export function csiVolumeOf({ spec }: PersistentVolume): CsiVolume | undefined {
  return spec?.csi && { driver: spec.csi.driver, handle: spec.csi.volumeHandle }
}

/** The name in `volumesInUse` and `volumesAttached` of node status. */
export function uniqueVolumeName({ driver, handle }: CsiVolume): string {
  return `${uniquePrefix}${driver}${separator}${handle}`
}

/** Undefined if the volume is not a CSI volume. */
export function parseUniqueVolumeName(name: string): CsiVolume | undefined {
  if (!name.startsWith(uniquePrefix)) return undefined
  const [driver = '', handle, ...rest] = name.slice(uniquePrefix.length).split(separator)
  return handle === undefined || rest.length > 0 ? undefined : { driver, handle }
}

/** Name of the VolumeAttachment. */
export function attachmentName({ driver, handle }: CsiVolume, node: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`
}

/**
 * True if the volume may be attached to several nodes at once. Without access modes this is unknown, and the
 * decision is left to the driver.
 */
export function isMultiAttachAllowed({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? []
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany')
}
