import type { Pod, Volume } from '#/api/generated/core/v1.ts'

/** An in-tree disk referenced directly by a pod. */
export interface Disk {
  readonly kind: 'gce' | 'ebs' | 'iscsi' | 'rbd'
  readonly name: string
  /** Hosts that serve it; disks are the same if one host is in common. */
  readonly hosts: readonly string[]
  readonly isReadOnly: boolean
}

const none: readonly Disk[] = []
const known = new WeakMap<Pod, readonly Disk[]>()

export function disksOf(pod: Pod): readonly Disk[] {
  const found = known.get(pod)
  if (found !== undefined) return found
  const disks = (pod.spec?.volumes ?? []).flatMap(diskOf)
  const made = disks.length === 0 ? none : disks
  known.set(pod, made)
  return made
}

/** Disks conflict unless both uses are read-only; an EBS volume always conflicts. */
export function areInConflict(left: Disk, right: Disk): boolean {
  if (left.kind !== right.kind || left.name !== right.name) return false
  if (left.isReadOnly && right.isReadOnly) return false
  return left.kind !== 'rbd' || left.hosts.some(host => right.hosts.includes(host))
}

function diskOf({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Volume): readonly Disk[] {
  if (gcePersistentDisk) {
    const { pdName, readOnly = false } = gcePersistentDisk
    return [{ kind: 'gce', name: pdName, hosts: [], isReadOnly: readOnly }]
  }
  if (awsElasticBlockStore)
    return [{ kind: 'ebs', name: awsElasticBlockStore.volumeID, hosts: [], isReadOnly: false }]
  if (iscsi) return [{ kind: 'iscsi', name: iscsi.iqn, hosts: [], isReadOnly: iscsi.readOnly ?? false }]
  if (!rbd) return none
  const { monitors, pool = 'rbd', image, readOnly = false } = rbd
  return [{ kind: 'rbd', name: `${pool}/${image}`, hosts: monitors, isReadOnly: readOnly }]
}
