/** The desired and actual state of volume attachments, indexed by node and derived from the informers. */
import { conditionOf } from '#/api/conditions.ts'
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers, volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import type { CSIDriver, VolumeAttachment } from '#/api/generated/storage/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatKey, type Stored } from '#/api/metadata.ts'
import { claimsOf, isClaimForPod } from '#/api/core/pod-volumes.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { ControllerContext } from '../controller.ts'
import { isPodTerminated, podsByClaim } from '../shared/pod-volumes.ts'
import {
  attachmentName,
  csiVolumeOf,
  isMultiAttachAllowed,
  parseUniqueVolumeName,
  uniqueVolumeName,
} from './attachment.ts'
import type { VolumeToAttach } from './plan.ts'
import { podsByNode } from '../pods.ts'

/** Set by kubelets that leave attaching and detaching to this controller. */
const managedAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach'

export class StateOfWorld {
  readonly nodes: Informer<Node>
  readonly #pods: Informer<Pod>
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #volumes: Informer<PersistentVolume>
  readonly #drivers: Informer<CSIDriver>
  readonly #attachments: Informer<VolumeAttachment>
  readonly #podsByNode: Index<Stored<Pod>>
  readonly #podsByClaim: Index<Stored<Pod>>
  readonly #attachmentsByNode: Index<Stored<VolumeAttachment>>
  readonly #attachmentsByVolume: Index<Stored<VolumeAttachment>>

  constructor({ informer }: Pick<ControllerContext, 'informer'>) {
    this.nodes = informer(nodes)
    this.#pods = informer(pods)
    this.#claims = informer(persistentVolumeClaims)
    this.#volumes = informer(persistentVolumes)
    this.#drivers = informer(csiDrivers)
    this.#attachments = informer(volumeAttachments)
    this.#podsByNode = podsByNode(this.#pods)
    this.#podsByClaim = podsByClaim(this.#pods)
    this.#attachmentsByNode = this.#attachments.index('node', ({ spec }) => [spec.nodeName])
    this.#attachmentsByVolume = this.#attachments.index('volume', ({ spec }) => {
      return spec.source.persistentVolumeName ? [spec.source.persistentVolumeName] : []
    })
  }

  /** Volumes that must be attached to the node for its pods. */
  wanted(nodeName: string): readonly VolumeToAttach[] {
    const wanted = new Map<string, VolumeToAttach>()
    for (const pod of this.#podsByNode.get(nodeName)) {
      for (const volume of usesVolumes(pod) ? this.#volumesOf(pod) : []) {
        const csiVolume = csiVolumeOf(volume)
        if (csiVolume === undefined || !this.#isAttachRequired(csiVolume.driver)) continue
        const uniqueName = uniqueVolumeName(csiVolume)
        const name = volume.metadata.name
        const known = wanted.get(uniqueName)
        const using = [...(known?.pods ?? []), pod]
        wanted.set(uniqueName, {
          ...csiVolume,
          name,
          isMultiAttachAllowed: isMultiAttachAllowed(volume),
          pods: using,
        })
      }
    }
    return [...wanted.values()]
  }

  /** This controller's VolumeAttachments for a node, by unique volume name. */
  attachments(nodeName: string): ReadonlyMap<string, Stored<VolumeAttachment>> {
    const all = this.#attachmentsByNode.get(nodeName)
    if (all.length === 0) return new Map()
    const names = new Map<string, string>()
    // The PersistentVolume may be deleted before its VolumeAttachment; `volumesAttached` still has its unique
    // name.
    for (const { name } of this.nodes.get(nodeName)?.status?.volumesAttached ?? []) {
      const csiVolume = parseUniqueVolumeName(name)
      if (csiVolume) names.set(attachmentName(csiVolume, nodeName), name)
    }
    const found = new Map<string, Stored<VolumeAttachment>>()
    for (const attachment of all) {
      const volume = this.#volumes.get(attachment.spec.source.persistentVolumeName ?? '')
      const csiVolume = volume && csiVolumeOf(volume)
      if (csiVolume) names.set(attachmentName(csiVolume, nodeName), uniqueVolumeName(csiVolume))
      const uniqueName = names.get(attachment.metadata.name)
      if (uniqueName !== undefined) found.set(uniqueName, attachment)
    }
    return found
  }

  elsewhere(volumeName: string, nodeName: string): readonly VolumeAttachment[] {
    return this.#attachmentsByVolume.get(volumeName).filter(({ spec }) => spec.nodeName !== nodeName)
  }

  /** Pods that use a volume on these nodes. */
  podsUsing(volumeName: string, nodeNames: readonly string[]): readonly Pod[] {
    return this.#podsOf(volumeName).filter(pod => {
      return nodeNames.includes(pod.spec?.nodeName ?? '') && usesVolumes(pod)
    })
  }

  isManaged(nodeName: string): boolean {
    return this.nodes.get(nodeName)?.metadata.annotations?.[managedAnnotation] !== undefined
  }

  /** Enqueues a node for every change that may affect its volumes. */
  enqueueOnChange(enqueue: (nodeName: string) => void): void {
    const enqueuePods = (using: readonly Pod[]): void => {
      for (const { spec } of using) if (spec?.nodeName) enqueue(spec.nodeName)
    }
    this.#pods.addEventHandler((_key, { oldObject, newObject }) => {
      for (const pod of [oldObject, newObject]) {
        if (!pod?.spec?.nodeName || claimsOf(pod).length === 0) continue
        const isSame =
          oldObject !== undefined &&
          newObject !== undefined &&
          usesVolumes(oldObject) === usesVolumes(newObject)
        if (!isSame || oldObject.spec?.nodeName !== newObject.spec?.nodeName) enqueue(pod.spec.nodeName)
      }
    })
    this.#claims.addEventHandler((key, { oldObject, newObject }) => {
      if (boundTo(oldObject) !== boundTo(newObject)) enqueuePods(this.#podsByClaim.get(key))
    })
    this.#volumes.addEventHandler((name, { oldObject, newObject }) => {
      const isSame = oldObject && newObject && equalJson(oldObject.spec, newObject.spec)
      if (isSame) return
      this.enqueueUsers(name, enqueue)
      for (const { spec } of this.#attachmentsByVolume.get(name)) enqueue(spec.nodeName)
    })
    this.#attachments.addEventHandler((_name, { oldObject, newObject }) => {
      const { nodeName, source } = (newObject ?? oldObject).spec
      enqueue(nodeName)
      // Nodes waiting for this volume must be reconciled too.
      if (oldObject?.status?.attached !== newObject?.status?.attached || newObject === undefined)
        this.enqueueUsers(source.persistentVolumeName ?? '', enqueue)
    })
    this.#drivers.addEventHandler((_name, { oldObject, newObject }) => {
      if (oldObject?.spec?.attachRequired === newObject?.spec?.attachRequired && oldObject && newObject)
        return
      for (const { metadata } of this.nodes.list()) enqueue(metadata.name)
    })
    this.nodes.addEventHandler((name, { oldObject, newObject }) => {
      if (oldObject === undefined || newObject === undefined || isOtherwise(oldObject, newObject))
        enqueue(name)
    })
  }

  /** Enqueues the nodes of pods that use a volume. */
  enqueueUsers(volumeName: string, enqueue: (nodeName: string) => void): void {
    for (const { spec } of this.#podsOf(volumeName)) if (spec?.nodeName) enqueue(spec.nodeName)
  }

  /** Calls back for every new VolumeAttachment. */
  onVolumeAttachmentAdded(onAdded: (volumeName: string, nodeName: string) => void): void {
    this.#attachments.addEventHandler((_name, { oldObject, newObject }) => {
      if (oldObject !== undefined || newObject === undefined) return
      onAdded(newObject.spec.source.persistentVolumeName ?? '', newObject.spec.nodeName)
    })
  }

  #podsOf(volumeName: string): readonly Pod[] {
    const { namespace = '', name } = this.#volumes.get(volumeName)?.spec?.claimRef ?? {}
    return name === undefined ? [] : this.#podsByClaim.get(formatKey({ namespace, name }))
  }

  #volumesOf(pod: Pod): readonly Stored<PersistentVolume>[] {
    const namespace = pod.metadata.namespace ?? ''
    return claimsOf(pod).flatMap(({ name, isEphemeral }) => {
      const claim = this.#claims.get(formatKey({ namespace, name }))
      if (claim === undefined || boundTo(claim) === undefined) return []
      if (isEphemeral && !isClaimForPod(claim, pod)) return []
      const volume = this.#volumes.get(boundTo(claim) ?? '')
      return volume?.spec?.claimRef?.uid === claim.metadata.uid && volume ? [volume] : []
    })
  }

  /** Default true: volumes of a driver without a CSIDriver object are attached. */
  #isAttachRequired(driver: string): boolean {
    return this.#drivers.get(driver)?.spec?.attachRequired !== false
  }
}

function usesVolumes(pod: Pod): boolean {
  return !isPodTerminated(pod)
}

function boundTo(claim: PersistentVolumeClaim | undefined): string | undefined {
  return claim?.status?.phase === 'Bound' ? claim.spec?.volumeName : undefined
}

/** True if a change affects volumes; a heartbeat does not. */
function isOtherwise(before: Node, after: Node): boolean {
  const relevant = ({ metadata, spec, status }: Node): unknown => [
    status?.volumesInUse,
    status?.volumesAttached,
    spec?.taints,
    metadata.annotations?.[managedAnnotation],
    conditionOf(status?.conditions, 'Ready')?.status,
  ]
  return !equalJson(relevant(before), relevant(after))
}
