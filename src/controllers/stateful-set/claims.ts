/**
 * The claims of pods. They outlive the pods, and what becomes of them in the end their owner references say: those of a
 * set that is to take its claims along belong to the set; those of a pod that is one too many belong to the pod.
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
  /** With the owners that they should have. */
  readonly update: readonly PersistentVolumeClaim[]
  /** Names of claims that have to go before there can be new ones. */
  readonly going: readonly string[]
  /** Names of claims that something else manages, for which the policy can do nothing. */
  readonly conflicting: readonly string[]
}

export interface ClaimsWorld {
  readonly set: StatefulSet
  readonly ordinal: number
  /** The ordinal is one that the set wants no pod for. */
  readonly isSurplus: boolean
  /** The pod, or who it will be. */
  readonly pod: Pod
  readonly claimOf: (name: string) => PersistentVolumeClaim | undefined
}

export function planClaims(world: ClaimsWorld): ClaimsPlan {
  const plan = { create: [], update: [], going: [], conflicting: [] } as {
    create: PersistentVolumeClaim[]
    update: PersistentVolumeClaim[]
    going: string[]
    conflicting: string[]
  }
  for (const template of world.set.spec?.volumeClaimTemplates ?? []) {
    const name = claimName(world.set, template, world.ordinal)
    const claim = world.claimOf(name)
    if (claim === undefined) {
      plan.create.push(newClaim(world, template, name))
      continue
    }
    if (isBeingDeleted(claim)) plan.going.push(name)
    if (hasOtherController(claim, world)) plan.conflicting.push(name)
    const owners = ownersOf(claim, world)
    if (owners !== undefined) plan.update.push(withOwners(claim, owners))
  }
  return plan
}

/**
 * Whether a claim of the ordinal still belongs to an earlier pod, with which it goes. A new pod would lose it: it must
 * wait until the claim is gone.
 */
export function hasLeftoverClaim(world: Omit<ClaimsWorld, 'isSurplus'>): boolean {
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
  const { namespace = '' } = set.metadata ?? {}
  const labels = { ...template.metadata?.labels, ...set.spec?.selector.matchLabels }
  const claim = { ...template, metadata: { ...template.metadata, name, namespace, labels } }
  const owners = wantedOwners(world)
  return owners.length === 0 ? claim : withOwners(claim, owners)
}

/** Undefined when they are as they should be, or not for us to touch. */
function ownersOf(claim: PersistentVolumeClaim, world: ClaimsWorld): readonly OwnerReference[] | undefined {
  const { set, pod } = world
  // What belongs to a set or pod of old will go with it.
  if (isOfEarlier(claim, set, setKind) || isOfEarlier(claim, pod, podKind)) return undefined
  const uids = new Set([set.metadata?.uid, pod.metadata?.uid])
  const references = claim.metadata?.ownerReferences ?? []
  const ours = references.filter(({ uid }) => uids.has(uid))
  const others = references.filter(({ uid }) => !uids.has(uid))
  const wanted = hasOtherController(claim, world) ? [] : wantedOwners(world)
  const isRight =
    ours.length === wanted.length &&
    wanted.every(owner => ours.some(({ uid, controller }) => uid === owner.uid && controller === true))
  return isRight ? undefined : [...others, ...wanted]
}

function wantedOwners({ set, pod, isSurplus }: ClaimsWorld): readonly OwnerReference[] {
  const { whenDeleted, whenScaled } = policyOf(set)
  const goesWithPod = whenScaled === 'Delete' && isSurplus
  const owner = goesWithPod ? pod : set
  const reference = goesWithPod || whenDeleted === 'Delete' ? controllerReference(owner) : undefined
  return reference ? [reference] : []
}

/** Where claims are kept in any case, others may do with them what they like. */
function hasOtherController(claim: PersistentVolumeClaim, { set, pod }: ClaimsWorld): boolean {
  const { whenDeleted, whenScaled } = policyOf(set)
  if (whenDeleted !== 'Delete' && whenScaled !== 'Delete') return false
  return (claim.metadata?.ownerReferences ?? []).some(reference => {
    if (names(reference, set, setKind)) return reference.uid !== set.metadata?.uid
    if (names(reference, pod, podKind)) return reference.uid !== pod.metadata?.uid
    return reference.controller === true
  })
}

interface Kind {
  readonly apiVersion: string
  readonly kind: string
}

const setKind: Kind = { apiVersion: 'apps/v1', kind: 'StatefulSet' }
const podKind: Kind = { apiVersion: 'v1', kind: 'Pod' }

/** Whether a reference is to an object of the name, be it this one or an earlier one. */
function names(reference: OwnerReference, owner: KubernetesObject, { apiVersion, kind }: Kind): boolean {
  return (
    reference.apiVersion === apiVersion && reference.kind === kind && reference.name === owner.metadata?.name
  )
}

function isOfEarlier(claim: PersistentVolumeClaim, owner: KubernetesObject, kind: Kind): boolean {
  const references = claim.metadata?.ownerReferences ?? []
  return references.some(each => names(each, owner, kind) && each.uid !== owner.metadata?.uid)
}

function withOwners(claim: PersistentVolumeClaim, owners: readonly OwnerReference[]): PersistentVolumeClaim {
  const { ownerReferences: _, ...metadata } = claim.metadata ?? {}
  return {
    ...claim,
    metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: owners },
  }
}
