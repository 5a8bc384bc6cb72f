import { annotationOf, keyOf, type Stored } from '#/api/metadata.ts'
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { isFullyBound, selectedNodeAnnotation } from '#/api/core/persistent-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import type { VolumePlan } from './pod-volume-claims.ts'
import { matchesNodeAffinity } from './matches-node-affinity.ts'

/** Informer state, without assumed objects. */
export interface BoundWorld {
  readonly node: Stored<Node>
  readonly volume: (name: string) => Stored<PersistentVolume> | undefined
  readonly claim: (key: string) => Stored<PersistentVolumeClaim> | undefined
  /** True if the informer has seen this resourceVersion. */
  readonly hasSeenVolume: (version: string) => boolean
  readonly hasSeenClaim: (version: string) => boolean
}

/** True if all written bindings and provisionings have been completed. Throws if they have failed. */
export function checkBindings(written: VolumePlan, world: BoundWorld): boolean {
  const { bindings, provisionedClaims } = written
  return (
    bindings.every(({ volume, claim }) => isVolumeBound(volume, claim, world)) &&
    provisionedClaims.every(claim => isProvisioned(claim, world))
  )
}

function isVolumeBound(
  written: Stored<PersistentVolume>,
  claim: Stored<PersistentVolumeClaim>,
  world: BoundWorld,
): boolean {
  const name = written.metadata.name
  if (!world.hasSeenVolume(written.metadata.resourceVersion)) return false
  const volume = world.volume(name)
  if (volume === undefined) throw new Error(`failed to check binding: could not find PV ${quote(name)}`)
  checkAffinity(volume, world.node)
  if (!volume.spec?.claimRef?.uid) throw new Error(`ClaimRef got reset for pv ${quote(name)}`)
  return isFullyBound(existing(claim, world))
}

function isProvisioned(written: Stored<PersistentVolumeClaim>, world: BoundWorld): boolean {
  if (!world.hasSeenClaim(written.metadata.resourceVersion)) return false
  const claim = existing(written, world)
  // A provisioner that fails removes or changes the selected-node annotation.
  if (annotationOf(claim, selectedNodeAnnotation) !== world.node.metadata.name)
    throw new Error(`provisioning failed for PVC ${quote(claim.metadata.name)}`)
  const name = claim.spec?.volumeName
  if (!name) return false
  const volume = world.volume(name)
  if (volume === undefined) return false
  checkAffinity(volume, world.node)
  return isFullyBound(claim)
}

function existing(
  written: Stored<PersistentVolumeClaim>,
  { claim }: BoundWorld,
): Stored<PersistentVolumeClaim> {
  const key = keyOf(written)
  const now = claim(key)
  if (now === undefined) throw new Error(`failed to check binding: could not find PVC ${quote(key)}`)
  return now
}

function checkAffinity(volume: Stored<PersistentVolume>, node: Stored<Node>): void {
  if (matchesNodeAffinity(volume, node)) return
  const [name, nodeName] = [volume.metadata.name, node.metadata.name].map(each => quote(each))
  throw new Error(`pv ${name} node affinity doesn't match node ${nodeName}: no matching NodeSelectorTerms`)
}
