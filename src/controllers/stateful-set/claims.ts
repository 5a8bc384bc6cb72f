/**
 * PersistentVolumeClaims of the pods. They outlive the pods; their owner references implement the retention
 * policy: with `whenDeleted: Delete` claims are owned by the set, with `whenScaled: Delete` claims of condemned
 * pods are owned by the pod.
 * https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention
 */
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import {
  controllerReference,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
} from '#/api/metadata.ts'
import { claimName } from './identity.ts'

export interface ClaimsPlan {
  readonly create: readonly PersistentVolumeClaim[]
  /** Claims with corrected owner references. */
  readonly update: readonly PersistentVolumeClaim[]
  /** Names of claims being deleted; new ones cannot be created before. */
  readonly terminating: readonly string[]
  /** Names of claims with another controller, to which the retention policy does not apply. */
  readonly conflicting: readonly string[]
}

export interface ClaimsWorld {
  readonly set: StatefulSet
  readonly ordinal: number
  /** True if the ordinal is beyond the desired replicas. */
  readonly isCondemned: boolean
  /** The pod, or for a missing one an object with its name. */
  readonly pod: Pod
  readonly claimOf: (name: string) => PersistentVolumeClaim | undefined
}

export function planClaims(world: ClaimsWorld): ClaimsPlan {
  const plan = { create: [], update: [], terminating: [], conflicting: [] } as {
    create: PersistentVolumeClaim[]
    update: PersistentVolumeClaim[]
    terminating: string[]
    conflicting: string[]
  }
  for (const template of world.set.spec?.volumeClaimTemplates ?? []) {
    const name = claimName(world.set, template, world.ordinal)
    const claim = world.claimOf(name)
    if (claim === undefined) {
      plan.create.push(newClaim(world, template, name))
      continue
    }
    if (isBeingDeleted(claim)) plan.terminating.push(name)
    if (hasOtherController(claim, world)) plan.conflicting.push(name)
    const owners = ownersOf(claim, world)
    if (owners !== undefined) plan.update.push(withOwners(claim, owners))
  }
  return plan
}

/**
 * True if a claim is still owned by an earlier pod of the ordinal and will be deleted with it. A new pod
 * would lose the claim, so it is not created before.
 */
export function hasStaleClaim(world: Omit<ClaimsWorld, 'isCondemned'>): boolean {
  const { set, ordinal, pod, claimOf } = world
  if (policyOf(set).whenScaled !== 'Delete') return false
  return (set.spec?.volumeClaimTemplates ?? []).some(template => {
    const claim = claimOf(claimName(set, template, ordinal))
    return claim !== undefined && isOfEarlier(claim, pod, podKind)
  })
}

interface Policy {
  readonly whenDeleted: string
  readonly whenScaled: string
}

function policyOf(set: StatefulSet): Policy {
  return { whenDeleted: 'Retain', whenScaled: 'Retain', ...set.spec?.persistentVolumeClaimRetentionPolicy }
}

function newClaim(world: ClaimsWorld, template: PersistentVolumeClaim, name: string): PersistentVolumeClaim {
  const { set } = world
  const { namespace = '' } = set.metadata
  const labels = { ...template.metadata.labels, ...set.spec?.selector.matchLabels }
  const claim = { ...template, metadata: { ...template.metadata, name, namespace, labels } }
  const owners = wantedOwners(world)
  return owners.length === 0 ? claim : withOwners(claim, owners)
}

/** Undefined if the owner references are correct or must not be changed. */
function ownersOf(claim: PersistentVolumeClaim, world: ClaimsWorld): readonly OwnerReference[] | undefined {
  const { set, pod } = world
  // A claim owned by an earlier set or pod of the same name will be garbage collected.
  if (isOfEarlier(claim, set, setKind) || isOfEarlier(claim, pod, podKind)) return undefined
  const uids = new Set([set.metadata.uid, pod.metadata.uid])
  const references = claim.metadata.ownerReferences ?? []
  const ours = references.filter(({ uid }) => uids.has(uid))
  const others = references.filter(({ uid }) => !uids.has(uid))
  const wanted = hasOtherController(claim, world) ? [] : wantedOwners(world)
  const isRight =
    ours.length === wanted.length &&
    wanted.every(owner => ours.some(({ uid, controller }) => uid === owner.uid && controller === true))
  return isRight ? undefined : [...others, ...wanted]
}

function wantedOwners({ set, pod, isCondemned }: ClaimsWorld): readonly OwnerReference[] {
  const { whenDeleted, whenScaled } = policyOf(set)
  const goesWithPod = whenScaled === 'Delete' && isCondemned
  const owner = goesWithPod ? pod : set
  const reference = goesWithPod || whenDeleted === 'Delete' ? controllerReference(owner) : undefined
  return reference ? [reference] : []
}

/** False if both policies are Retain, since owner references do not matter then. */
function hasOtherController(claim: PersistentVolumeClaim, { set, pod }: ClaimsWorld): boolean {
  const { whenDeleted, whenScaled } = policyOf(set)
  if (whenDeleted !== 'Delete' && whenScaled !== 'Delete') return false
  return (claim.metadata.ownerReferences ?? []).some(reference => {
    if (names(reference, set, setKind)) return reference.uid !== set.metadata.uid
    if (names(reference, pod, podKind)) return reference.uid !== pod.metadata.uid
    return reference.controller === true
  })
}

interface Kind {
  readonly apiVersion: string
  readonly kind: string
}

const setKind: Kind = { apiVersion: 'apps/v1', kind: 'StatefulSet' }
const podKind: Kind = { apiVersion: 'v1', kind: 'Pod' }

/** True if the reference names the owner, whatever its uid. */
function names(reference: OwnerReference, owner: KubernetesObject, { apiVersion, kind }: Kind): boolean {
  return (
    reference.apiVersion === apiVersion && reference.kind === kind && reference.name === owner.metadata.name
  )
}

function isOfEarlier(claim: PersistentVolumeClaim, owner: KubernetesObject, kind: Kind): boolean {
  const references = claim.metadata.ownerReferences ?? []
  return references.some(each => names(each, owner, kind) && each.uid !== owner.metadata.uid)
}

function withOwners(claim: PersistentVolumeClaim, owners: readonly OwnerReference[]): PersistentVolumeClaim {
  const { ownerReferences: _, ...metadata } = claim.metadata
  return {
    ...claim,
    metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: owners },
  }
}
