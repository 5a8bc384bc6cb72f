import {
  checkVolumeSatisfyClaim,
  findMatchingVolume,
  isAvailable,
  requestedSize,
} from '#/api/core/persistent-volumes.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'
import { defaultClassOf, hasStorageClass, storageClassOf } from '#/api/core/storage-classes.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatQuantity } from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import type { Cause, Evidence, Remedy } from '../diagnosis.ts'
import { eventWith, type Snapshot } from '../collect/snapshot.ts'
import { healthy, kubectl, nameOf, ofEvent, ofObject, remedy, trimmed, whyCommand } from './phrases.ts'

/** Why a claim has no volume. `WaitForFirstConsumer` is no problem of the claim if a pod uses it. */
export function diagnoseClaim(snapshot: Snapshot, claim: Stored<PersistentVolumeClaim>): Cause {
  const { phase } = claim.status ?? {}
  const { volumeName } = claim.spec ?? {}
  const name = nameOf(claim)
  if (phase === 'Bound') return healthy(`${name} is bound to PersistentVolume ${volumeName ?? ''}.`)
  if (phase === 'Lost') {
    return {
      code: 'ClaimPending',
      summary: `${name} has lost its volume, since PersistentVolume ${volumeName ?? ''} does not exist any more.`,
      evidence: [ofObject(claim, `status.phase is Lost, spec.volumeName is ${volumeName ?? ''}`)],
      remedies: [remedy('Restore the volume from a backup; a claim never changes to another volume.')],
    }
  }
  if (volumeName) return boundElsewhere(snapshot, claim, volumeName)
  const { storageClasses, volumes = [] } = snapshot
  const className = storageClassOf(claim) || (hasStorageClass(claim) ? '' : defaultName(storageClasses))
  const failed = eventWith(snapshot, claim, ['ProvisioningFailed'])
  const evidence = [...(failed ? [ofEvent(failed, snapshot.nowMs)] : claimEvents(snapshot, claim))]
  if (className === '') {
    return pending(claim, {
      why: hasStorageClass(claim)
        ? `it asks for no storage class, and ${missingVolume(claim, volumes)}`
        : `it names no storage class, the cluster has no default class, and ${missingVolume(claim, volumes)}`,
      evidence: [...evidence, ...nearMisses(claim, volumes)],
      remedies: [
        remedy(
          'See the classes; set spec.storageClassName of a new claim to one of them:',
          'kubectl get storageclasses',
        ),
        remedy('Or create a PersistentVolume that fits:', 'kubectl get persistentvolumes'),
      ],
    })
  }
  const storageClass = storageClasses?.find(({ metadata }) => metadata.name === className)
  const isMissing = storageClasses ? storageClass === undefined : failed?.message?.includes('not found')
  const isMatched = findMatchingVolume(claim, volumes, { isDelayed: false }) !== undefined
  if (isMissing && !isMatched) {
    return pending(claim, {
      why: `StorageClass ${quote(className)} does not exist`,
      evidence,
      remedies: [
        remedy('See the classes; a new claim can name one of them:', 'kubectl get storageclasses'),
        remedy('Delete the claim to create it again:', deletion(claim)),
      ],
    })
  }
  return byClass(snapshot, claim, { className, storageClass, evidence, failedMessage: failed?.message })
}

interface ClassOfClaim {
  readonly className: string
  readonly storageClass: Stored<StorageClass> | undefined
  readonly evidence: readonly Evidence[]
  readonly failedMessage: string | undefined
}

function byClass(
  snapshot: Snapshot,
  claim: Stored<PersistentVolumeClaim>,
  { className, storageClass, evidence, failedMessage }: ClassOfClaim,
): Cause {
  const { provisioner = '', volumeBindingMode } = storageClass ?? {}
  const { volumes = [] } = snapshot
  if (failedMessage !== undefined) {
    return pending(claim, {
      why: `no volume could be provisioned: ${trimmed(failedMessage)}`,
      evidence,
      remedies: [
        remedy(
          'See the class and its provisioner:',
          kubectl(undefined, 'describe', 'storageclass', className),
        ),
      ],
    })
  }
  const users = (snapshot.pods ?? []).filter(pod =>
    claimsOf(pod).some(each => each.name === claim.metadata.name),
  )
  if (volumeBindingMode === 'WaitForFirstConsumer' && users.every(({ spec }) => !spec?.nodeName)) {
    const [user] = users
    if (user === undefined) {
      return pending(claim, {
        why: `StorageClass ${quote(className)} waits for a pod that uses the claim, and there is none`,
        evidence,
        remedies: [remedy('Nothing is wrong: create the pod that uses the claim.')],
      })
    }
    if (provisioner !== noProvisioner) {
      return pending(claim, {
        why: `it waits for ${nameOf(user)}, which is not scheduled`,
        evidence,
        remedies: [
          remedy(
            'See why the pod is not scheduled:',
            whyCommand('pod', { namespace: user.metadata.namespace ?? '', name: user.metadata.name }),
          ),
        ],
      })
    }
  }
  if (provisioner === noProvisioner || provisioner === '') {
    return pending(claim, {
      why: `${missingVolume(claim, volumes)} in StorageClass ${quote(className)}, which provisions none`,
      evidence: [...evidence, ...nearMisses(claim, volumes)],
      remedies: [remedy('Create a PersistentVolume that fits:', 'kubectl get persistentvolumes')],
    })
  }
  return pending(claim, {
    why: `the provisioner ${quote(provisioner)} of StorageClass ${quote(className)} has not created a volume`,
    evidence,
    remedies: [
      remedy('Check that the provisioner runs:', kubectl(undefined, 'get', 'pods', '--all-namespaces')),
    ],
  })
}

const noProvisioner = 'kubernetes.io/no-provisioner'

interface PendingClaim {
  readonly why: string
  readonly evidence: readonly Evidence[]
  readonly remedies: readonly Remedy[]
}

function pending(claim: Stored<PersistentVolumeClaim>, { why, evidence, remedies }: PendingClaim): Cause {
  return { code: 'ClaimPending', summary: `${nameOf(claim)} is Pending, since ${why}.`, evidence, remedies }
}

function boundElsewhere(snapshot: Snapshot, claim: Stored<PersistentVolumeClaim>, volumeName: string): Cause {
  const volume = snapshot.volumes?.find(({ metadata }) => metadata.name === volumeName)
  const { claimRef } = volume?.spec ?? {}
  const named = `PersistentVolume ${volumeName}, which it names,`
  const phase = `its phase is ${volume?.status?.phase ?? 'unknown'}`
  const isTaken = claimRef !== undefined && claimRef.name !== claim.metadata.name
  const why =
    volume === undefined
      ? `${named} ${snapshot.volumes ? 'does not exist' : 'is not bound to it'}`
      : isTaken
        ? `${named} belongs to claim ${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`
        : `${named} does not fit: ${checkVolumeSatisfyClaim(volume, claim) ?? phase}`
  return pending(claim, {
    why,
    evidence: claimEvents(snapshot, claim),
    remedies: [remedy('See the volumes:', 'kubectl get persistentvolumes')],
  })
}

function claimEvents(snapshot: Snapshot, claim: Stored<PersistentVolumeClaim>): readonly Evidence[] {
  const event = eventWith(snapshot, claim, [
    'FailedBinding',
    'VolumeMismatch',
    'WaitForFirstConsumer',
    'ExternalProvisioning',
    'WaitForPodScheduled',
  ])
  return event
    ? [ofEvent(event, snapshot.nowMs)]
    : [ofObject(claim, `status.phase is ${claim.status?.phase ?? ''}`)]
}

function defaultName(classes: readonly Stored<StorageClass>[] | undefined): string {
  return defaultClassOf(classes ?? [])?.metadata.name ?? ''
}

function missingVolume(claim: PersistentVolumeClaim, volumes: readonly PersistentVolume[]): string {
  const modes = (claim.spec?.accessModes ?? []).join(',')
  const wanted = `${formatQuantity(requestedSize(claim))} ${modes}`.trim()
  return volumes.some(isAvailable)
    ? `no available PersistentVolume fits (it asks for ${wanted})`
    : 'there is no available PersistentVolume'
}

function nearMisses(
  claim: PersistentVolumeClaim,
  volumes: readonly Stored<PersistentVolume>[],
): readonly Evidence[] {
  return volumes.slice(0, volumesShown).map(volume => {
    const { capacity = {} } = volume.spec ?? {}
    const reason = isAvailable(volume)
      ? (checkVolumeSatisfyClaim(volume, claim) ?? 'fits')
      : `is ${volume.status?.phase ?? 'in use'}`
    return ofObject(volume, `${capacity['storage'] ?? ''}: ${reason}`)
  })
}

const volumesShown = 5

function deletion({ metadata }: Stored): string {
  return kubectl(metadata.namespace, 'delete', 'persistentvolumeclaim', metadata.name)
}
