/**
 * PersistentVolumeClaims of the pods. They outlive the pods; their owner references implement the retention
 * policy: with `whenDeleted: Delete` claims are owned by the set, with `whenScaled: Delete` claims of condemned
 * pods are owned by the pod.
 * https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention
 */
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { controllerReference, isBeingDeleted, type OwnerReference, type Stored } from '#/api/metadata.ts'
import { claimName, podName } from './identity.ts'

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
  readonly set: Stored<StatefulSet>
  readonly ordinal: number
  /** True if the ordinal is beyond the desired replicas. */
  readonly isCondemned: boolean
  readonly pod: Stored<Pod> | undefined
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
  const { set, ordinal, claimOf } = world
  if (policyOf(set).whenScaled !== 'Delete') return false
  return (set.spec?.volumeClaimTemplates ?? []).some(template => {
    const claim = claimOf(claimName(set, template, ordinal))
    return claim !== undefined && isOfEarlier(claim, podReferent(world))
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
  if (isOfEarlier(claim, setReferent(world)) || isOfEarlier(claim, podReferent(world))) return undefined
  const uids = new Set([set.metadata.uid, pod?.metadata.uid])
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
  if (whenScaled === 'Delete' && isCondemned && pod) return [controllerReference(pod)]
  return whenDeleted === 'Delete' ? [controllerReference(set)] : []
}

/** False if both policies are Retain, since owner references do not matter then. */
function hasOtherController(claim: PersistentVolumeClaim, world: ClaimsWorld): boolean {
  const { whenDeleted, whenScaled } = policyOf(world.set)
  if (whenDeleted !== 'Delete' && whenScaled !== 'Delete') return false
  return (claim.metadata.ownerReferences ?? []).some(reference => {
    const referent = [setReferent(world), podReferent(world)].find(each => names(reference, each))
    return referent ? reference.uid !== referent.uid : reference.controller === true
  })
}

/** The set or pod that a reference may name; a pod that does not exist has no uid. */
interface Referent extends Omit<OwnerReference, 'uid'> {
  readonly uid: string | undefined
}

function setReferent({ set }: Pick<ClaimsWorld, 'set'>): Referent {
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', name: set.metadata.name, uid: set.metadata.uid }
}

function podReferent({ set, ordinal, pod }: Pick<ClaimsWorld, 'set' | 'ordinal' | 'pod'>): Referent {
  return { apiVersion: 'v1', kind: 'Pod', name: podName(set, ordinal), uid: pod?.metadata.uid }
}

/** True if the reference names the referent, whatever its uid. */
function names(reference: OwnerReference, { apiVersion, kind, name }: Referent): boolean {
  return reference.apiVersion === apiVersion && reference.kind === kind && reference.name === name
}

function isOfEarlier(claim: PersistentVolumeClaim, referent: Referent): boolean {
  const references = claim.metadata.ownerReferences ?? []
  return references.some(each => names(each, referent) && each.uid !== referent.uid)
}

function withOwners(claim: PersistentVolumeClaim, owners: readonly OwnerReference[]): PersistentVolumeClaim {
  const { ownerReferences: _, ...metadata } = claim.metadata
  return {
    ...claim,
    metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: owners },
  }
}
