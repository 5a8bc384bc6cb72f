/** Names by which controller, kubelet and attachers know that they mean the same volume. */
import { createHash } from 'node:crypto'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'

export interface DriverVolume {
  readonly driver: string
  readonly handle: string
}

const uniquePrefix = 'kubernetes.io/csi/'
const separator = '^'

/** Undefined for a volume that no CSI driver serves: it is not attached by anybody. */
export function driverVolumeOf({ spec }: PersistentVolume): DriverVolume | undefined {
  return spec?.csi && { driver: spec.csi.driver, handle: spec.csi.volumeHandle }
}

/** As nodes list it among what they use and what is attached to them. */
export function uniqueNameOf({ driver, handle }: DriverVolume): string {
  return `${uniquePrefix}${driver}${separator}${handle}`
}

/** Undefined for a volume of another kind. */
export function parseUniqueName(name: string): DriverVolume | undefined {
  if (!name.startsWith(uniquePrefix)) return undefined
  const [driver = '', handle, ...rest] = name.slice(uniquePrefix.length).split(separator)
  return handle === undefined || rest.length > 0 ? undefined : { driver, handle }
}

/** The name of the object that says that the volume should be at the node. */
export function attachmentName({ driver, handle }: DriverVolume, node: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`
}

/** Whether the volume may be at several nodes at once. Without access modes the driver has to know. */
export function isForManyNodes({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? []
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany')
}
