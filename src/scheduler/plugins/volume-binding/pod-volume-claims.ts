/**
 * The volume needs of a pod, evaluated for each node: bound claims require a node where their volume is
 * accessible; unbound ones get an existing volume or a provisioned one.
 * https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
 */
import { annotationOf, formatKey, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import {
  isFullyBound,
  listCandidateVolumes,
  requestedSize,
  selectedNodeAnnotation,
} from '#/api/core/persistent-volumes.ts'
import { claimsOf, type ClaimOfPod, isClaimForPod } from '#/api/core/pod-volumes.ts'
import { compareQuantities } from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { Unschedulable } from '../../framework.ts'
import { matchesNodeAffinity } from './matches-node-affinity.ts'

export interface StorageWorld {
  /** From the informer. */
  readonly claim: (key: string) => Stored<PersistentVolumeClaim> | undefined
  /** From the assume cache. */
  readonly assumedClaim: (key: string) => Stored<PersistentVolumeClaim> | undefined
  readonly assumedVolume: (name: string) => Stored<PersistentVolume> | undefined
  /** Volumes pre-bound to the claim, and available ones of its class. */
  readonly candidates: (claim: Stored<PersistentVolumeClaim>) => readonly Stored<PersistentVolume>[]
  readonly storageClass: (name: string) => Stored<StorageClass> | undefined
  /** Tests if the provisioner has capacity for the claim on a node; undefined if it is unlimited. */
  readonly hasEnoughCapacity: (
    claim: Stored<PersistentVolumeClaim>,
    storageClass: Stored<StorageClass>,
  ) => ((node: Node) => boolean) | undefined
}

/** The writes required for the pod on the node. */
export interface VolumePlan {
  readonly bindings: {
    readonly volume: Stored<PersistentVolume>
    readonly claim: Stored<PersistentVolumeClaim>
  }[]
  readonly provisionedClaims: Stored<PersistentVolumeClaim>[]
}

export interface PodVolumeClaims {
  /** True if all claims are bound. */
  readonly isBound: boolean
  /** Tests a node; the required writes are added to the plan, if given. */
  readonly findPodVolumes: (node: Node, plan?: VolumePlan) => Unschedulable | undefined
}

/** Undefined if the pod has no claims; a status if no node is possible. */
export function podVolumeClaims(pod: Pod, world: StorageWorld): PodVolumeClaims | Unschedulable | undefined {
  const uses = claimsOf(pod)
  if (uses.length === 0) return undefined
  const bound: Stored<PersistentVolumeClaim>[] = []
  const waiting: Stored<PersistentVolumeClaim>[] = []
  for (const use of uses) {
    const key = formatKey({ namespace: pod.metadata.namespace ?? '', name: use.name })
    const claim = world.claim(key)
    const problem = problemWith(pod, use, claim)
    if (problem !== undefined) return { reason: problem, isUnresolvable: true }
    const now = world.assumedClaim(key) ?? claim!
    if (isFullyBound(now)) bound.push(now)
    else if (isDelayed(now, world)) waiting.push(now)
    else return unboundImmediate
  }
  const found = bound.map(({ spec }) => world.assumedVolume(spec?.volumeName ?? ''))
  const wanted = waiting.map(claim => wantedBy(claim, world))
  // Smallest first, so that large volumes remain for large claims.
  wanted.sort((left, right) => compareQuantities(requestedSize(left.claim), requestedSize(right.claim)))
  return {
    isBound: waiting.length === 0,
    findPodVolumes: (node, plan) => findPodVolumes(node, { found, wanted }, plan),
  }
}

const unboundImmediate: Unschedulable = {
  reason: 'pod has unbound immediate PersistentVolumeClaims',
  isUnresolvable: true,
}

function problemWith(
  pod: Pod,
  { name, isEphemeral }: ClaimOfPod,
  claim: Stored<PersistentVolumeClaim> | undefined,
): string | undefined {
  const quoted = quote(name)
  if (claim === undefined) {
    return isEphemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}`
      : `persistentvolumeclaim ${quoted} not found`
  }
  if (claim.status?.phase === 'Lost') {
    const volume = quote(claim.spec?.volumeName ?? '')
    return `persistentvolumeclaim ${quoted} bound to non-existent persistentvolume ${volume}`
  }
  if (isBeingDeleted(claim)) return `persistentvolumeclaim ${quoted} is being deleted`
  if (!isEphemeral || isClaimForPod(claim, pod)) return undefined
  const { namespace, name: podName } = pod.metadata
  return `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`
}

/** True for WaitForFirstConsumer, unless the claim names its volume. */
function isDelayed(claim: Stored<PersistentVolumeClaim>, { storageClass }: StorageWorld): boolean {
  const name = storageClassOf(claim)
  const known = name === '' ? undefined : storageClass(name)
  if (known === undefined) return false
  if (known.volumeBindingMode === undefined)
    throw new Error(`VolumeBindingMode not set for StorageClass ${quote(name)}`)
  return known.volumeBindingMode === 'WaitForFirstConsumer' && !claim.spec?.volumeName
}

interface WantedVolume {
  readonly claim: Stored<PersistentVolumeClaim>
  /** The selected node, if provisioning has already been requested. */
  readonly onlyOn: string | undefined
  readonly kept: Stored<PersistentVolume> | undefined
  readonly free: readonly Stored<PersistentVolume>[]
  readonly provisioning: Provisioning
}

/** Tests if a volume can be provisioned for a claim on a node. */
interface Provisioning {
  readonly isPossible: (node: Node) => boolean
  readonly hasEnoughCapacity: ((node: Node) => boolean) | undefined
}

function wantedBy(claim: Stored<PersistentVolumeClaim>, world: StorageWorld): WantedVolume {
  const onlyOn = annotationOf(claim, selectedNodeAnnotation)
  const ranked =
    onlyOn === undefined
      ? listCandidateVolumes(claim, world.candidates(claim))
      : { kept: undefined, free: [] }
  return { claim, onlyOn, ...ranked, provisioning: provisioningFor(claim, world) }
}

/** Provisioner of classes with manually created volumes. */
const noProvisioner = 'kubernetes.io/no-provisioner'

function provisioningFor(claim: Stored<PersistentVolumeClaim>, world: StorageWorld): Provisioning {
  const storageClass = world.storageClass(storageClassOf(claim))
  const provisioner = storageClass?.provisioner
  if (storageClass === undefined || !provisioner || provisioner === noProvisioner)
    return { isPossible: () => false, hasEnoughCapacity: undefined }
  const { allowedTopologies = [] } = storageClass
  return {
    isPossible: node =>
      allowedTopologies.length === 0 || allowedTopologies.some(term => isTermMet(term, node)),
    hasEnoughCapacity: world.hasEnoughCapacity(claim, storageClass),
  }
}

function isTermMet(
  { matchLabelExpressions = [] }: NonNullable<StorageClass['allowedTopologies']>[number],
  { metadata }: Node,
): boolean {
  if (matchLabelExpressions.length === 0) return false
  return matchLabelExpressions.every(({ key, values }) => {
    const value = metadata.labels?.[key]
    return value !== undefined && values.includes(value)
  })
}

interface Needs {
  /** The volumes of bound claims; undefined if the volume does not exist. */
  readonly found: readonly (Stored<PersistentVolume> | undefined)[]
  readonly wanted: readonly WantedVolume[]
}

/** One bit per reason, in the order of the message. */
const reasons = [
  "node(s) didn't match PersistentVolume's node affinity",
  "node(s) didn't find available persistent volumes to bind",
  'node(s) did not have enough free storage',
  'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
]
const conflict = 1
const noMatch = 2
const notEnoughCapacity = 4
const gone = 8

const statuses = Array.from({ length: 1 << reasons.length }, (_, bits): Unschedulable => {
  const [reason = '', ...more] = reasons.filter((_reason, index) => bits & (1 << index))
  return { reason, isUnresolvable: true, ...(more.length > 0 && { more }) }
})

function findPodVolumes(
  node: Node,
  { found, wanted }: Needs,
  plan: VolumePlan | undefined,
): Unschedulable | undefined {
  const problems = checkFound(found, node) | checkWanted(wanted, node, plan)
  return problems === 0 ? undefined : statuses[problems]
}

/** Stops at the first volume that does not match. */
function checkFound(found: Needs['found'], node: Node): number {
  for (const volume of found) {
    if (volume === undefined) return gone
    if (!matchesNodeAffinity(volume, node)) return conflict
  }
  return 0
}

function checkWanted(wanted: Needs['wanted'], node: Node, plan: VolumePlan | undefined): number {
  for (const { onlyOn } of wanted) if (onlyOn !== undefined && onlyOn !== node.metadata.name) return noMatch
  let chosen: Set<Stored<PersistentVolume>> | undefined
  let problems = 0
  for (const want of wanted) {
    const volume = want.onlyOn === undefined ? choose(want, node, chosen) : undefined
    if (volume === undefined) {
      problems ||= checkProvisioning(want.provisioning, node)
      plan?.provisionedClaims.push(want.claim)
    } else {
      plan?.bindings.push({ volume, claim: want.claim })
      if (wanted.length > 1) (chosen ??= new Set()).add(volume)
    }
  }
  return problems
}

function choose(
  { kept, free }: WantedVolume,
  node: Node,
  chosen: ReadonlySet<Stored<PersistentVolume>> | undefined,
): Stored<PersistentVolume> | undefined {
  if (kept !== undefined && !chosen?.has(kept)) return matchesNodeAffinity(kept, node) ? kept : undefined
  return free.find(volume => !chosen?.has(volume) && matchesNodeAffinity(volume, node))
}

function checkProvisioning({ isPossible, hasEnoughCapacity }: Provisioning, node: Node): number {
  if (!isPossible(node)) return noMatch
  return hasEnoughCapacity === undefined || hasEnoughCapacity(node) ? 0 : notEnoughCapacity
}
