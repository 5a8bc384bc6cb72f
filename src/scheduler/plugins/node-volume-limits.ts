import { annotationOf, formatKey } from '#/api/metadata.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#/api/generated/core/v1.ts'
import { csiNodes, storageClasses, volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import type { CSINode, StorageClass, VolumeAttachment } from '#/api/generated/storage/v1.ts'
import { inTreeVolumeOf, csiDriverByInTreePlugin } from '#/api/core/in-tree-storage.ts'
import { ephemeralClaimName, isClaimForPod } from '#/api/core/pod-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { Informer } from '#/client/informer.ts'
import {
  clusterEventWithHint,
  type FilterState,
  type PluginFactory,
  type Unschedulable,
} from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { usesClaim } from './pod-claims.ts'

const unschedulable: Unschedulable = { reason: 'node(s) exceed max volume count' }

/** Limits the attached volumes per CSI driver to the count in the CSINode. */
export const nodeVolumeLimits: PluginFactory = handle => {
  const drivers = handle.informer(csiNodes)
  const claims = handle.informer(persistentVolumeClaims)
  const volumes = handle.informer(persistentVolumes)
  const classes = handle.informer(storageClasses)
  const attachments = handle.informer(volumeAttachments).index('node', ({ spec }) => [spec.nodeName])
  const world: VolumesWorld = {
    claim: key => claims.get(key),
    volume: name => volumes.get(name),
    storageClass: name => classes.get(name),
    attachedTo: node => attachments.get(node),
  }
  return {
    name: 'NodeVolumeLimits',
    eventsToRegister: [
      clusterEventWithHint({ resource: csiNodes, on: ['add'] }),
      clusterEventWithHint({
        resource: csiNodes,
        on: ['update'],
        queueingHint: (_pod, { before, after }) => hasMore(before, after),
      }),
      clusterEventWithHint({
        resource: pods,
        on: ['delete'],
        queueingHint: (_pod, { before }) => before?.spec?.volumes?.some(isAttachable) ?? false,
      }),
      clusterEventWithHint({
        resource: persistentVolumeClaims,
        on: ['add'],
        queueingHint: (pod, { after }) => after === undefined || usesClaim(pod, after),
      }),
      clusterEventWithHint({
        resource: volumeAttachments,
        on: ['delete'],
        queueingHint: ({ spec }) =>
          spec?.volumes?.some(volume => volume.persistentVolumeClaim || inTreeVolumeOf(volume)) ?? false,
      }),
    ],
    preFilter: ({ pod }) => {
      if (!pod.spec?.volumes?.some(isAttachable)) return undefined
      const wanted = attachableVolumes(pod, world)
      if ('reason' in wanted) return wanted
      return wanted.length === 0 ? undefined : filterStateOf(wanted, drivers, world)
    },
  }
}

type Wanted = Exclude<ReturnType<typeof attachableVolumes>, Unschedulable>

function filterStateOf(wanted: Wanted, drivers: Informer<CSINode>, world: VolumesWorld): FilterState {
  return {
    filter: node => {
      const csiNode = drivers.get(node.name)
      const limits = limitsOf(csiNode)
      if (csiNode === undefined || limits.size === 0) return undefined
      const added = new Map<string, string>()
      for (const volume of wanted) {
        const named = nameOn(volume, csiNode)
        if (named !== undefined && limits.has(named.driver)) added.set(named.name, named.driver)
      }
      return added.size === 0 || isWithinLimits(node, csiNode, { added, limits, world })
        ? undefined
        : unschedulable
    },
  }
}

interface Count {
  /** Volumes to be attached: drivers by volume name. */
  readonly added: Map<string, string>
  readonly limits: ReadonlyMap<string, number>
  readonly world: VolumesWorld
}

function isWithinLimits(
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

interface VolumesWorld {
  readonly claim: (key: string) => PersistentVolumeClaim | undefined
  readonly volume: (name: string) => PersistentVolume | undefined
  readonly storageClass: (name: string) => StorageClass | undefined
  readonly attachedTo: (node: string) => readonly VolumeAttachment[]
}

/** A CSI volume, or an in-tree volume that is migrated to a CSI driver on some nodes. */
type AttachableVolume =
  | { readonly driver: string; readonly handle: string }
  | { readonly plugin: string; readonly handle: string }

/** True if a pod volume may be attachable. */
function isAttachable(volume: Volume): boolean {
  return (
    volume.persistentVolumeClaim !== undefined ||
    volume.ephemeral !== undefined ||
    inTreeVolumeOf(volume) !== undefined
  )
}

/** The volumes to attach for a pod; a status if they cannot be determined. */
function attachableVolumes(pod: Pod, world: VolumesWorld): readonly AttachableVolume[] | Unschedulable {
  const namespace = pod.metadata.namespace ?? ''
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
      return { reason, isUnresolvable: true }
    }
    if (ephemeral && !isClaimForPod(claim, pod)) {
      const owner = `${namespace}/${pod.metadata.name}`
      return {
        reason: `PVC ${key} was not created for pod ${owner} (pod is not owner)`,
        isUnresolvable: true,
      }
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
function nameOn(
  volume: AttachableVolume,
  csiNode: CSINode,
): { readonly driver: string; readonly name: string } | undefined {
  if ('driver' in volume) return { driver: volume.driver, name: `${volume.driver}/${volume.handle}` }
  const driver = csiDriverByInTreePlugin.get(volume.plugin)
  const isMigrated = annotationOf(csiNode, migratedPlugins)?.split(',').includes(volume.plugin)
  return driver === undefined || !isMigrated ? undefined : { driver, name: `${driver}/${volume.handle}` }
}
