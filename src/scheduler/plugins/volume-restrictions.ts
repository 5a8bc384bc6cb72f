import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { nodes, persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import { formatKey } from '#/api/metadata.ts'
import { quote } from '#/api/quote.ts'
import type { Informer } from '#/client/informer.ts'
import type { ObjectIndex } from '#/client/object-store.ts'
import { type FilterCycle, type PluginFactory, type Refusal, wakeUp } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { areInConflict, disksOf, type Disk } from './volume-restrictions/disks.ts'

const diskConflict: Refusal = { reason: 'node(s) had no available disk' }
const claimConflict: Refusal = {
  reason:
    'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
}

/** Disks that only one pod of a node may have, and claims that only one pod of the cluster may use. */
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

/** Told apart only by how many of the pod's claims others use. */
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

/** The keys of the claims that the pod must have for itself. */
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

function isInUse(key: string, uid: string, byClaim: ObjectIndex<Pod>, { nodes: infos }: Snapshot): boolean {
  const others = byClaim.get(key).filter(({ metadata }) => metadata?.uid !== uid)
  if (others.some(isPlaced)) return true
  // Another one that has no node may have got one just now.
  const waiting = new Set(
    others.filter(({ spec }) => !spec?.nodeName).map(({ metadata }) => metadata?.uid ?? ''),
  )
  return waiting.size > 0 && infos.some(({ pods: placed }) => placed.some(each => waiting.has(each.uid)))
}

function isPlaced({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

/** Those that pods name; claims that are made for one pod only are used by no other. */
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
