/**
 * Expands volumes to the size that their claims request, if an in-process provisioner supports it; for others
 * an event reports that an external controller must do it.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims
 */
import { messageOf } from '#/base/message-of.ts'
import { annotationOf, keyOf, parseKey, type Stored } from '#/api/metadata.ts'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
  PersistentVolumeClaimStatus,
} from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/text/quantity.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import type { Provisioner } from './shared/provisioner.ts'

export interface PersistentVolumeExpanderSettings {
  /** In-process provisioners; all others are external. */
  readonly provisioners?: readonly Provisioner[]
}

export function persistentVolumeExpanderController(
  settings: PersistentVolumeExpanderSettings = {},
): Controller {
  return {
    name: 'persistentvolume-expander-controller',
    queueName: 'volume_expand',
    account: 'expand-controller',
    component: 'volume_expand',
    setUp: context => setUp(context, settings),
  }
}

const provisionedBy = 'pv.kubernetes.io/provisioned-by'
const resizer = 'volume.kubernetes.io/storage-resizer'

function setUp(
  { platform, recorder, informer, enqueue }: ControllerContext,
  { provisioners = [] }: PersistentVolumeExpanderSettings,
): Reconcile {
  const claims = informer(persistentVolumeClaims)
  const volumes = informer(persistentVolumes)
  const known = new Map(provisioners.map(provisioner => [provisioner.name, provisioner]))
  claims.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject !== undefined && isOtherSize(oldObject, newObject)) enqueue(key)
  })
  // The informer may show the claim before its bound volume.
  volumes.addEventHandler((_name, { oldObject, newObject }) => {
    const { namespace, name, uid } = newObject?.spec?.claimRef ?? {}
    if (namespace && name && uid && oldObject?.spec?.claimRef?.uid !== uid) enqueue(`${namespace}/${name}`)
  })

  return async ({ key, client }) => {
    const claim = claims.get(key)
    const volume = volumes.get(claim?.spec?.volumeName ?? '')
    if (claim === undefined || volume === undefined) return undefined
    const size = planExpansion(claim, volume)
    if (size === undefined) return undefined
    const provisioner = known.get(annotationOf(volume, provisionedBy) ?? '')
    if (provisioner?.expand === undefined) {
      recorder.record(claim, {
        type: volume.spec?.csi ? 'Normal' : 'Warning',
        reason: 'ExternalExpanding',
        message: 'waiting for an external controller to expand this PVC',
      })
      return undefined
    }
    try {
      const expanded = await expand(client, claim, { volume, provisioner, size })
      const message = `ExpandVolume succeeded for volume ${keyOf(claim)}`
      recorder.record(expanded, { type: 'Normal', reason: 'VolumeResizeSuccessful', message })
    } catch (error) {
      const message = `error expanding pvc ${keyOf(claim)}: ${messageOf(error)}`
      recorder.record(claim, { type: 'Warning', reason: 'VolumeResizeFailed', message })
      throw error
    }
    return undefined
  }

  interface Expansion {
    readonly volume: Stored<PersistentVolume>
    readonly provisioner: Provisioner
    readonly size: string
  }

  /** The claim's status is written last, so that a crash before that leads to a retry. */
  async function expand(
    client: Client,
    claim: Stored<PersistentVolumeClaim>,
    { volume, provisioner, size }: Expansion,
  ): Promise<PersistentVolumeClaim> {
    const marked = await patchStatus(client, claim, {
      metadata: { annotations: { [resizer]: provisioner.name } },
      status: expandingStatus(claim, size, formatTime(platform.clock.now())),
    })
    const reached = (await provisioner.expand?.(volume, size)) ?? size
    if (volume.spec?.capacity?.['storage'] !== reached) {
      const at = { name: volume.metadata.name }
      const patch = { spec: { capacity: { storage: reached } } }
      await client.patch(persistentVolumes, at, { type: 'merge', patch })
    }
    return patchStatus(client, marked, { status: expandedStatus(marked, reached) })
  }
}

function patchStatus(
  client: Client,
  claim: Stored<PersistentVolumeClaim>,
  { metadata, status }: { readonly metadata?: object; readonly status: object },
): Promise<Stored<PersistentVolumeClaim>> {
  const at = { ...parseKey(keyOf(claim)), subresource: 'status' }
  const { resourceVersion } = claim.metadata
  const patch = { metadata: { ...metadata, resourceVersion }, status }
  return client.patch(persistentVolumeClaims, at, { type: 'merge', patch })
}

/** True if the requested size or the capacity changed. */
function isOtherSize(before: PersistentVolumeClaim | undefined, after: PersistentVolumeClaim): boolean {
  if (after.status?.phase !== 'Bound') return false
  const sizes = ({ spec, status }: PersistentVolumeClaim): string => {
    return `${spec?.resources?.requests?.['storage']} ${status?.capacity?.['storage']} ${status?.phase}`
  }
  return before === undefined || sizes(before) !== sizes(after)
}

/** The size to expand the volume to; undefined if it is large enough. */
function planExpansion(claim: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  const { claimRef } = volume.spec ?? {}
  const isBound = claimRef?.namespace === claim.metadata.namespace && claimRef?.uid === claim.metadata.uid
  if (!isBound || claim.status?.phase !== 'Bound') return undefined
  const wanted = claim.spec?.resources?.requests?.['storage']
  if (wanted === undefined || !isLarger(wanted, claim.status.capacity?.['storage'])) return undefined
  const allocated = claim.status.allocatedResources?.['storage']
  // An expansion in progress is completed first: the storage may already have that size and cannot shrink.
  const isBegun = claim.status.allocatedResourceStatuses?.['storage'] === 'ControllerResizeInProgress'
  return isBegun && allocated !== undefined ? allocated : wanted
}

/** Conditions that report the progress of an expansion. */
const progress: ReadonlySet<string> = new Set([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
])

function expandingStatus(
  { status = {} }: PersistentVolumeClaim,
  size: string,
  nowText: string,
): PersistentVolumeClaimStatus {
  const known = status.conditions?.find(({ type }) => type === 'Resizing')
  const condition = known ?? { type: 'Resizing', status: 'True', lastTransitionTime: nowText }
  return {
    conditions: [...withoutProgress(status), condition],
    allocatedResources: { storage: size },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
  }
}

/** A merge patch, in which `null` removes a field. */
function expandedStatus(
  { status = {} }: PersistentVolumeClaim,
  size: string,
): Readonly<Record<string, unknown>> {
  const conditions = withoutProgress(status)
  return {
    capacity: { storage: size },
    conditions: conditions.length === 0 ? null : conditions,
    allocatedResourceStatuses: { storage: null },
  }
}

function withoutProgress({ conditions = [] }: PersistentVolumeClaimStatus): PersistentVolumeClaimCondition[] {
  return conditions.filter(({ type }) => !progress.has(type))
}

function isLarger(wanted: string, than: string | undefined): boolean {
  return compareQuantities(amountOf(wanted), amountOf(than)) > 0
}

function amountOf(text: string | undefined): Quantity {
  return (text !== undefined && tryParseQuantity(text)) || zeroQuantity
}
