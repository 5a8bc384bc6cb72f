import { nodes, persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim, Pod, Volume } from '#/api/generated/core/v1.ts'
import { formatKey, type Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Informer } from '#/client/informer.ts'
import {
  clusterEventWithHint,
  type FilterState,
  type PluginFactory,
  type Unschedulable,
} from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { isAssigned } from '../pod-assignment.ts'
import type { Snapshot } from '../snapshot.ts'

const diskConflict: Unschedulable = { reason: 'node(s) had no available disk' }
const claimConflict: Unschedulable = {
  reason:
    'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
}

/** Filters out nodes with conflicting in-tree disks, and rejects pods with a ReadWriteOncePod claim in use. */
export const volumeRestrictions: PluginFactory = handle => {
  const claims = handle.informer(persistentVolumeClaims)
  const byClaim = handle.informer(pods).index('claims by name', claimKeysOf)
  return {
    name: 'VolumeRestrictions',
    eventsToRegister: [
      clusterEventWithHint({
        resource: pods,
        on: ['delete'],
        queueingHint: (pod, { before }) => before === undefined || isInTheWay(before, pod),
      }),
      clusterEventWithHint({ resource: nodes, on: ['add'] }),
      clusterEventWithHint({
        resource: persistentVolumeClaims,
        on: ['add'],
        queueingHint: (pod, { after }) => after === undefined || claimKeysOf(pod).includes(keyOfClaim(after)),
      }),
    ],
    preFilter: ({ pod, uid }, snapshot) => {
      if (pod.spec?.volumes === undefined) return undefined
      const own = exclusiveClaims(pod, claims)
      if ('reason' in own) return own
      const disks = disksOf(pod)
      const inUse = [...own].filter(key => {
        const others = byClaim.get(key).filter(({ metadata }) => metadata.uid !== uid)
        return isAnyOnNode(others, snapshot)
      }).length
      return disks.length === 0 && inUse === 0 ? undefined : filterStateOf(disks, own, inUse)
    },
  }
}

/** States differ only in the number of the pod's exclusive claims in use. */
function filterStateOf(disks: readonly Disk[], own: ReadonlySet<string>, inUse: number): FilterState {
  const shared = (pod: Pod): number => claimKeysOf(pod).filter(key => own.has(key)).length
  return {
    filter: ({ pods: placed }) => {
      if (disks.length > 0 && placed.some(({ pod }) => hasConflict(disks, pod))) return diskConflict
      return inUse > 0 ? claimConflict : undefined
    },
    ...(own.size > 0 && {
      addPod: ({ pod }: NodeInfo['pods'][number]) => filterStateOf(disks, own, inUse + shared(pod)),
      removePod: ({ pod }: NodeInfo['pods'][number]) => filterStateOf(disks, own, inUse - shared(pod)),
    }),
  }
}

function hasConflict(disks: readonly Disk[], pod: Pod): boolean {
  const others = disksOf(pod)
  return others.length > 0 && disks.some(disk => others.some(other => areInConflict(disk, other)))
}

/** Keys of the pod's claims with ReadWriteOncePod. */
function exclusiveClaims(
  pod: Pod,
  claims: Informer<PersistentVolumeClaim>,
): ReadonlySet<string> | Unschedulable {
  const own = new Set<string>()
  for (const key of claimKeysOf(pod)) {
    const claim = claims.get(key)
    if (claim === undefined) {
      const name = quote(key.slice(key.indexOf('/') + 1))
      return { reason: `persistentvolumeclaim ${name} not found`, isUnresolvable: true }
    }
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) own.add(key)
  }
  return own
}

function isAnyOnNode(candidates: readonly Stored<Pod>[], { nodes: infos }: Snapshot): boolean {
  if (candidates.some(isAssigned)) return true
  // A pending pod of the informer may be assumed on a node in the snapshot.
  const waiting = new Set(
    candidates.filter(({ spec }) => !spec?.nodeName).map(({ metadata }) => metadata.uid),
  )
  return waiting.size > 0 && infos.some(({ pods: placed }) => placed.some(each => waiting.has(each.uid)))
}

/** Keys of the claims named by the pod; ephemeral claims are never shared. */
function claimKeysOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => {
    return claim ? [formatKey({ namespace: metadata.namespace ?? '', name: claim.claimName })] : []
  })
}

function keyOfClaim({ metadata }: Stored<PersistentVolumeClaim>): string {
  return formatKey({ namespace: metadata.namespace ?? '', name: metadata.name })
}

function isInTheWay(gone: Pod, waiting: Pod): boolean {
  if (hasConflict(disksOf(waiting), gone)) return true
  const wanted = claimKeysOf(waiting)
  return claimKeysOf(gone).some(key => wanted.includes(key))
}

/** An in-tree disk referenced directly by a pod. */
interface Disk {
  readonly kind: 'gce' | 'ebs' | 'iscsi' | 'rbd'
  readonly name: string
  /** Hosts that serve it; disks are the same if one host is in common. */
  readonly hosts: readonly string[]
  readonly isReadOnly: boolean
}

const none: readonly Disk[] = []
const known = new WeakMap<Pod, readonly Disk[]>()

function disksOf(pod: Pod): readonly Disk[] {
  const found = known.get(pod)
  if (found !== undefined) return found
  const disks = (pod.spec?.volumes ?? []).flatMap(diskOf)
  const made = disks.length === 0 ? none : disks
  known.set(pod, made)
  return made
}

/** Disks conflict unless both uses are read-only; an EBS volume always conflicts. */
function areInConflict(left: Disk, right: Disk): boolean {
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
