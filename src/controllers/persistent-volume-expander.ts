/**
 * Makes volumes as large as their claims have come to ask for, where a provisioner in here can do that; of all others
 * it says that somebody else must.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims
 */
import { annotationOf } from '#/api/annotations.ts'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { keyOf, parseKey } from '#/api/metadata.ts'
import { formatTime } from '#/api/time.ts'
import type { Client } from '#/client/client.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { messageOf } from './message-of.ts'
import { expandedStatus, expandingStatus, planExpansion } from './persistent-volume-expander/plan.ts'
import type { Provisioner } from './provisioner.ts'

export interface PersistentVolumeExpanderSettings {
  /** Those that run in here; all others are external. */
  readonly provisioners?: readonly Provisioner[]
}

export function persistentVolumeExpanderController(
  settings: PersistentVolumeExpanderSettings = {},
): Controller {
  return {
    name: 'persistentvolume-expander-controller',
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
  claims.onChange((key, { before, after }) => {
    if (after !== undefined && isOtherSize(before, after)) enqueue(key)
  })
  // The claim may be known before the volume that it has got.
  volumes.onChange((_name, { before, after }) => {
    const { namespace, name, uid } = after?.spec?.claimRef ?? {}
    if (namespace && name && uid && before?.spec?.claimRef?.uid !== uid) enqueue(`${namespace}/${name}`)
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
    readonly volume: PersistentVolume
    readonly provisioner: Provisioner
    readonly size: string
  }

  /** The claim says last that it is done: a crash before that leads here again. */
  async function expand(
    client: Client,
    claim: PersistentVolumeClaim,
    { volume, provisioner, size }: Expansion,
  ): Promise<PersistentVolumeClaim> {
    const marked = await patchStatus(client, claim, {
      metadata: { annotations: { [resizer]: provisioner.name } },
      status: expandingStatus(claim, size, formatTime(platform.clock.now())),
    })
    const reached = (await provisioner.expand?.(volume, size)) ?? size
    if (volume.spec?.capacity?.['storage'] !== reached) {
      const at = { name: volume.metadata?.name ?? '' }
      const patch = { spec: { capacity: { storage: reached } } }
      await client.patch(persistentVolumes, at, { type: 'merge', patch })
    }
    return patchStatus(client, marked, { status: expandedStatus(marked, reached) })
  }
}

function patchStatus(
  client: Client,
  claim: PersistentVolumeClaim,
  { metadata, status }: { readonly metadata?: object; readonly status: object },
): Promise<PersistentVolumeClaim> {
  const at = { ...parseKey(keyOf(claim)), subresource: 'status' }
  const { resourceVersion } = claim.metadata ?? {}
  const patch = { metadata: { ...metadata, resourceVersion }, status }
  return client.patch(persistentVolumeClaims, at, { type: 'merge', patch })
}

/** A claim is looked at when it asks for another size, and when it is said to have another. */
function isOtherSize(before: PersistentVolumeClaim | undefined, after: PersistentVolumeClaim): boolean {
  if (after.status?.phase !== 'Bound') return false
  const sizes = ({ spec, status }: PersistentVolumeClaim): string => {
    return `${spec?.resources?.requests?.['storage']} ${status?.capacity?.['storage']} ${status?.phase}`
  }
  return before === undefined || sizes(before) !== sizes(after)
}
