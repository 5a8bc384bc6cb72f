import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { nodes, persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import { formatKey } from '#/api/metadata.ts'
import { quote } from '#/api/quote.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import { type FilterCycle, type PluginFactory, type Refusal, wakeUp } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { areInConflict, disksOf, type Disk } from './volume-restrictions/disks.ts'

const diskConflict: Refusal = { reason: 'node(s) had no available disk' }
const claimConflict: Refusal = {
  reason:
    'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
}

/** Refuses nodes with conflicting in-tree disks, and claims with ReadWriteOncePod that another pod uses. */
export const volumeRestrictions: PluginFactory = context => {
  const claims = context.informer(persistentVolumeClaims)
  const byClaim = context.informer(pods).index('claims by name', claimKeysOf)
  return {
    name: 'VolumeRestrictions',
    wakeUps: [
      wakeUp({
        resource: pods,
        on: ['delete'],
        isHelpful: (pod, { before }) => before === undefined || isInTheWay(before, pod),
      }),
      wakeUp({ resource: nodes, on: ['add'] }),
      wakeUp({
        resource: persistentVolumeClaims,
        on: ['add'],
        isHelpful: (pod, { after }) => after === undefined || claimKeysOf(pod).includes(keyOfClaim(after)),
      }),
    ],
    filter: ({ pod, uid }, snapshot) => {
      if (pod.spec?.volumes === undefined) return undefined
      const own = exclusiveClaims(pod, claims)
      if ('reason' in own) return own
      const disks = disksOf(pod)
      const inUse = [...own].filter(key => isInUse(key, uid, byClaim, snapshot)).length
      return disks.length === 0 && inUse === 0 ? undefined : cycleOf(disks, own, inUse)
    },
  }
}

/** Cycles differ only in the number of the pod's exclusive claims in use. */
function cycleOf(disks: readonly Disk[], own: ReadonlySet<string>, inUse: number): FilterCycle {
  const shared = (pod: Pod): number => claimKeysOf(pod).filter(key => own.has(key)).length
  return {
    test: ({ pods: placed }) => {
      if (disks.length > 0 && placed.some(({ pod }) => hasConflict(disks, pod))) return diskConflict
      return inUse > 0 ? claimConflict : undefined
    },
    ...(own.size > 0 && {
      withPod: ({ pod }: NodeInfo['pods'][number]) => cycleOf(disks, own, inUse + shared(pod)),
      withoutPod: ({ pod }: NodeInfo['pods'][number]) => cycleOf(disks, own, inUse - shared(pod)),
    }),
  }
}

function hasConflict(disks: readonly Disk[], pod: Pod): boolean {
  const others = disksOf(pod)
  return others.length > 0 && disks.some(disk => others.some(other => areInConflict(disk, other)))
}

/** Keys of the pod's claims with ReadWriteOncePod. */
function exclusiveClaims(pod: Pod, claims: Informer<PersistentVolumeClaim>): ReadonlySet<string> | Refusal {
  const own = new Set<string>()
  for (const key of claimKeysOf(pod)) {
    const claim = claims.get(key)
    if (claim === undefined) {
      const name = quote(key.slice(key.indexOf('/') + 1))
      return { reason: `persistentvolumeclaim ${name} not found`, isFinal: true }
    }
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) own.add(key)
  }
  return own
}

function isInUse(key: string, uid: string, byClaim: Index<Pod>, { nodes: infos }: Snapshot): boolean {
  const others = byClaim.get(key).filter(({ metadata }) => metadata?.uid !== uid)
  if (others.some(isPlaced)) return true
  // A pending pod of the informer may be assumed on a node in the snapshot.
  const waiting = new Set(
    others.filter(({ spec }) => !spec?.nodeName).map(({ metadata }) => metadata?.uid ?? ''),
  )
  return waiting.size > 0 && infos.some(({ pods: placed }) => placed.some(each => waiting.has(each.uid)))
}

function isPlaced({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

/** Keys of the claims named by the pod; ephemeral claims are never shared. */
function claimKeysOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => {
    return claim ? [formatKey({ namespace: metadata?.namespace ?? '', name: claim.claimName })] : []
  })
}

function keyOfClaim({ metadata }: PersistentVolumeClaim): string {
  return formatKey({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' })
}

function isInTheWay(gone: Pod, waiting: Pod): boolean {
  if (hasConflict(disksOf(waiting), gone)) return true
  const wanted = claimKeysOf(waiting)
  return claimKeysOf(gone).some(key => wanted.includes(key))
}
