import type { CSINode } from '#/api/generated/storage/v1.ts'
import { csiNodes, storageClasses, volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { inTreeVolumeOf } from '#/api/in-tree-storage.ts'
import type { Informer } from '#/client/informer.ts'
import { type FilterCycle, type PluginFactory, type Refusal, wakeUp } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { attachableVolumes, isAttachable, nameOn, type VolumesWorld } from './node-volume-limits/volumes.ts'
import { usesClaim } from './pod-claims.ts'

const refusal: Refusal = { reason: 'node(s) exceed max volume count' }

/** Limits the attached volumes per CSI driver to the count in the CSINode. */
export const nodeVolumeLimits: PluginFactory = context => {
  const drivers = context.informer(csiNodes)
  const claims = context.informer(persistentVolumeClaims)
  const volumes = context.informer(persistentVolumes)
  const classes = context.informer(storageClasses)
  const attachments = context.informer(volumeAttachments).index('node', ({ spec }) => [spec.nodeName])
  const world: VolumesWorld = {
    claim: key => claims.get(key),
    volume: name => volumes.get(name),
    storageClass: name => classes.get(name),
    attachedTo: node => attachments.get(node),
  }
  return {
    name: 'NodeVolumeLimits',
    wakeUps: [
      wakeUp({ resource: csiNodes, on: ['add'] }),
      wakeUp({
        resource: csiNodes,
        on: ['update'],
        isHelpful: (_pod, { before, after }) => hasMore(before, after),
      }),
      wakeUp({
        resource: pods,
        on: ['delete'],
        isHelpful: (_pod, { before }) => before?.spec?.volumes?.some(isAttachable) ?? false,
      }),
      wakeUp({
        resource: persistentVolumeClaims,
        on: ['add'],
        isHelpful: (pod, { after }) => after === undefined || usesClaim(pod, after),
      }),
      wakeUp({
        resource: volumeAttachments,
        on: ['delete'],
        isHelpful: ({ spec }) =>
          spec?.volumes?.some(volume => volume.persistentVolumeClaim || inTreeVolumeOf(volume)) ?? false,
      }),
    ],
    filter: ({ pod }) => {
      if (!pod.spec?.volumes?.some(isAttachable)) return undefined
      const wanted = attachableVolumes(pod, world)
      if ('reason' in wanted) return wanted
      return wanted.length === 0 ? undefined : cycleOf(wanted, drivers, world)
    },
  }
}

type Wanted = Exclude<ReturnType<typeof attachableVolumes>, Refusal>

function cycleOf(wanted: Wanted, drivers: Informer<CSINode>, world: VolumesWorld): FilterCycle {
  return {
    test: node => {
      const csiNode = drivers.get(node.name)
      const limits = limitsOf(csiNode)
      if (csiNode === undefined || limits.size === 0) return undefined
      const added = new Map<string, string>()
      for (const volume of wanted) {
        const named = nameOn(volume, csiNode)
        if (named !== undefined && limits.has(named.driver)) added.set(named.name, named.driver)
      }
      return added.size === 0 || isRoom(node, csiNode, { added, limits, world }) ? undefined : refusal
    },
  }
}

interface Count {
  /** Volumes to be attached: drivers by volume name. */
  readonly added: Map<string, string>
  readonly limits: ReadonlyMap<string, number>
  readonly world: VolumesWorld
}

function isRoom(
  { name, pods: placed }: NodeInfo,
  csiNode: CSINode,
  { added, limits, world }: Count,
): boolean {
  const attached = new Map<string, string>()
  for (const { pod } of placed) {
    if (!pod.spec?.volumes?.some(isAttachable)) continue
    const volumes = attachableVolumes(pod, world)
    // The volumes of a pod on the node that cannot be determined are ignored.
    if ('reason' in volumes) continue
    for (const volume of volumes) {
      const named = nameOn(volume, csiNode)
      if (named !== undefined) attached.set(named.name, named.driver)
    }
  }
  for (const each of attached.keys()) added.delete(each)
  for (const { spec } of world.attachedTo(name)) {
    const handle = world.volume(spec.source.persistentVolumeName ?? '')?.spec?.csi?.volumeHandle
    if (spec.attacher && handle !== undefined) attached.set(`${spec.attacher}/${handle}`, spec.attacher)
  }
  const coming = countByDriver(added)
  const present = countByDriver(attached)
  return [...coming].every(([driver, count]) => {
    return (present.get(driver) ?? 0) + count <= (limits.get(driver) ?? Infinity)
  })
}

function countByDriver(volumes: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const driver of volumes.values()) counts.set(driver, (counts.get(driver) ?? 0) + 1)
  return counts
}

const noLimits: ReadonlyMap<string, number> = new Map()
const known = new WeakMap<CSINode, ReadonlyMap<string, number>>()

function limitsOf(csiNode: CSINode | undefined): ReadonlyMap<string, number> {
  if (csiNode === undefined) return noLimits
  const found = known.get(csiNode)
  if (found !== undefined) return found
  const limits = new Map<string, number>()
  for (const { name, allocatable } of csiNode.spec.drivers)
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count)
  known.set(csiNode, limits)
  return limits
}

function hasMore(before: CSINode | undefined, after: CSINode | undefined): boolean {
  const was = limitsOf(before)
  return [...limitsOf(after)].some(([driver, count]) => count > (was.get(driver) ?? 0))
}
