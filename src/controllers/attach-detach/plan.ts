import { isTrue } from '#/api/conditions.ts'
import type { AttachedVolume, Node, Pod } from '#/api/generated/core/v1.ts'
import type { VolumeAttachment } from '#/api/generated/storage/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { attachmentName, parseUniqueVolumeName, uniqueVolumeName, type CsiVolume } from './attachment.ts'

/** A volume that pods on the node need. */
export interface VolumeToAttach extends CsiVolume {
  /** Name of the PersistentVolume. */
  readonly name: string
  readonly isMultiAttachAllowed: boolean
  readonly pods: readonly Pod[]
}

export interface AttachDetachWorld {
  readonly nodeName: string
  /** Undefined if the node has been deleted. */
  readonly node: Node | undefined
  /** Last reported by the node. Undefined when unknown; then every volume counts as in use. */
  readonly volumesInUse: readonly string[] | undefined
  readonly wanted: readonly VolumeToAttach[]
  /** This controller's VolumeAttachments for the node, by unique volume name. */
  readonly attachments: ReadonlyMap<string, Stored<VolumeAttachment>>
  /** VolumeAttachments of a volume to other nodes. */
  readonly elsewhere: (volume: VolumeToAttach) => readonly VolumeAttachment[]
  /** True while the volume is being attached to another node. */
  readonly isAttachingElsewhere: (volume: VolumeToAttach) => boolean
  /** Time at which a volume became unwanted, by unique volume name. */
  readonly unwantedSinceMs: ReadonlyMap<string, number>
  readonly nowMs: number
}

export interface AttachDetachPlan {
  readonly attach: readonly VolumeToAttach[]
  /** Attached volumes that are not in the node's `volumesAttached` yet. */
  readonly attached: readonly VolumeToAttach[]
  readonly failed: readonly { readonly volume: VolumeToAttach; readonly message: string }[]
  /** Single-node volumes that are attached to other nodes. */
  readonly blocked: readonly { readonly volume: VolumeToAttach; readonly nodes: readonly string[] }[]
  readonly detach: readonly Detachment[]
  /** Desired `volumesAttached` of the node status. */
  readonly volumesAttached: readonly AttachedVolume[]
  readonly unwantedSinceMs: ReadonlyMap<string, number>
  /** Time until the next forced detach is due; undefined when none is pending. */
  readonly requeueAfterMs: number | undefined
}

export interface Detachment {
  readonly uniqueName: string
  readonly attachment: Stored<VolumeAttachment>
  /** Detach without checking `volumesInUse`: the node is out of service, or was not ready for too long. */
  readonly isForced: boolean
}

/** Time after which an unwanted volume is detached by force from a node that is not ready. */
const unmountMsMax = 6 * 60_000

const outOfService = 'node.kubernetes.io/out-of-service'

export function planAttachDetach(world: AttachDetachWorld): AttachDetachPlan {
  const { node, wanted, attachments, isAttachingElsewhere } = world
  const isWanted = new Set(wanted.map(uniqueVolumeName))
  const detachments = planDetachments(world, isWanted)
  const reported = new Set(node?.status?.volumesAttached?.map(({ name }) => name))
  const isAttached = (name: string): boolean => {
    const attachment = attachments.get(name)
    return attachment?.status?.attached === true && !isBeingDeleted(attachment)
  }
  const missing = wanted.filter(volume => node !== undefined && !attachments.has(uniqueVolumeName(volume)))
  const blockers = missing.map(volume => ({ volume, others: blockingAttachments(world, volume) }))
  const detaching = new Set(detachments.detach.map(({ uniqueName }) => uniqueName))
  const present = [...attachments.keys()].filter(name => isAttached(name) && !detaching.has(name))
  return {
    ...detachments,
    attach: blockers.flatMap(({ volume, others }) => {
      return others.length === 0 && (volume.isMultiAttachAllowed || !isAttachingElsewhere(volume))
        ? [volume]
        : []
    }),
    blocked: blockers.flatMap(({ volume, others }) => {
      const nodes = others.filter(({ status }) => status?.attached).map(({ spec }) => spec.nodeName)
      return nodes.length > 0 ? [{ volume, nodes }] : []
    }),
    attached: wanted.filter(
      volume => isAttached(uniqueVolumeName(volume)) && !reported.has(uniqueVolumeName(volume)),
    ),
    failed: wanted.flatMap(volume => {
      const { attached, attachError } = attachments.get(uniqueVolumeName(volume))?.status ?? {}
      return attached || attachError === undefined ? [] : [{ volume, message: attachError.message ?? '' }]
    }),
    volumesAttached: volumesAttached(node, present),
  }
}

/**
 * Attachments that must be removed before the volume can be attached here. One that failed to attach does not
 * count.
 */
function blockingAttachments(
  { elsewhere }: AttachDetachWorld,
  volume: VolumeToAttach,
): readonly VolumeAttachment[] {
  if (volume.isMultiAttachAllowed) return []
  return elsewhere(volume).filter(({ status }) => status?.attached || status?.attachError === undefined)
}

/** Keeps the order of existing entries, and keeps entries for volumes that are not CSI volumes. */
function volumesAttached(node: Node | undefined, present: readonly string[]): readonly AttachedVolume[] {
  const reported = node?.status?.volumesAttached ?? []
  const kept = reported.filter(
    ({ name }) => present.includes(name) || parseUniqueVolumeName(name) === undefined,
  )
  const added = present.filter(name => !reported.some(each => each.name === name))
  return [...kept, ...added.map(name => ({ name, devicePath: '' }))]
}

type DetachPlan = Pick<AttachDetachPlan, 'detach' | 'unwantedSinceMs' | 'requeueAfterMs'>

function planDetachments(world: AttachDetachWorld, isWanted: ReadonlySet<string>): DetachPlan {
  const { node, volumesInUse, attachments, nowMs } = world
  const isReady = isTrue(node?.status?.conditions, 'Ready')
  const isOut = node?.spec?.taints?.some(({ key }) => key === outOfService) ?? false
  const unwantedSinceMs = new Map<string, number>()
  const detach: Detachment[] = []
  let requeueAfterMs = Infinity
  for (const [uniqueName, attachment] of attachments) {
    // Being deleted: the external attacher finishes the detach.
    if (isWanted.has(uniqueName) || isBeingDeleted(attachment)) continue
    const sinceMs = world.unwantedSinceMs.get(uniqueName) ?? nowMs
    unwantedSinceMs.set(uniqueName, sinceMs)
    const isLate = nowMs - sinceMs >= unmountMsMax
    const isInUse = volumesInUse?.includes(uniqueName) ?? true
    if (!isInUse || isOut || (isLate && !isReady))
      detach.push({ uniqueName, attachment, isForced: isLate || isOut })
    else if (!isLate) requeueAfterMs = Math.min(requeueAfterMs, sinceMs + unmountMsMax - nowMs)
  }
  return { detach, unwantedSinceMs, requeueAfterMs: requeueAfterMs === Infinity ? undefined : requeueAfterMs }
}

export function attachmentFor(volume: VolumeToAttach, nodeName: string): VolumeAttachment {
  return {
    metadata: { name: attachmentName(volume, nodeName) },
    spec: { attacher: volume.driver, nodeName, source: { persistentVolumeName: volume.name } },
  }
}

/**
 * Message of the `FailedAttachVolume` event. `others` are the pods that use the volume on the nodes it is
 * attached to.
 */
export function blockedMessage(volume: string, pod: Pod, others: readonly Pod[]): string {
  const about = `Waiting for detach for volume ${quote(volume)}`
  if (others.length === 0) {
    const why = 'waiting on detach before it can be attached to another node'
    return `${about} Volume is already exclusively attached to one node, ${why}`
  }
  const near = others.filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
  const far = others.length - near.length
  if (near.length === 0) return `${about} Volume is already used by ${far} pod(s) in different namespaces`
  const names = near.map(({ metadata }) => metadata.name).join(', ')
  const more = far > 0 ? ` and ${far} pod(s) in different namespaces` : ''
  return `${about} Volume is already used by pod(s) ${names}${more}`
}
