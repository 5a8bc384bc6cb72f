/** Writes to claims and volumes. Each is skipped if nothing changes. */
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '#/api/generated/core/v1.ts'
import { boundVolume } from '#/api/core/persistent-volumes.ts'
import type { Client } from '#/client/client.ts'
import type { EventContent, EventRecorder } from '#/client/event-recorder.ts'
import { boundClaim, boundStatus, unboundVolume } from './bound.ts'
import type { AssumeCache } from './assume-cache.ts'

export interface Writing {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly volumes: AssumeCache<PersistentVolume>
  readonly claims: AssumeCache<PersistentVolumeClaim>
}

/**
 * Binds in four writes, the volume's reference to the claim first. That write decides: it fails with a
 * conflict if another claim was faster, and a later reconcile completes the remaining writes after a crash.
 */
export async function bind(
  writing: Writing,
  volume: Stored<PersistentVolume>,
  claim: Stored<PersistentVolumeClaim>,
): Promise<void> {
  const pointed = await updateVolume(writing, boundVolume(volume, claim), volume)
  const bound = await setPhase(writing, pointed, { phase: 'Bound' })
  const pointing = await updateClaim(writing, boundClaim(claim, bound), claim)
  await setClaimStatus(writing, pointing, boundStatus(pointing, bound))
}

export async function unbind(writing: Writing, volume: Stored<PersistentVolume>): Promise<void> {
  const unbound = await updateVolume(writing, unboundVolume(volume), volume)
  await setPhase(writing, unbound, { phase: 'Available' })
}

export async function updateVolume(
  { client, volumes }: Writing,
  volume: Stored<PersistentVolume>,
  before: PersistentVolume,
): Promise<Stored<PersistentVolume>> {
  return volume === before ? volume : volumes.assume(client.update(persistentVolumes, volume))
}

export async function updateClaim(
  { client, claims }: Writing,
  claim: Stored<PersistentVolumeClaim>,
  before: PersistentVolumeClaim,
): Promise<Stored<PersistentVolumeClaim>> {
  return claim === before ? claim : claims.assume(client.update(persistentVolumeClaims, claim))
}

export interface PhaseChange {
  readonly phase: 'Available' | 'Bound' | 'Released' | 'Failed'
  /** Reason of the change; recorded as an event if the phase changes. */
  readonly event?: EventContent
}

export async function setPhase(
  { client, recorder, volumes }: Writing,
  volume: Stored<PersistentVolume>,
  { phase, event }: PhaseChange,
): Promise<Stored<PersistentVolume>> {
  if (volume.status?.phase === phase) return volume
  // The API server sets the transition time; the message of the previous phase is dropped.
  const { lastPhaseTransitionTime: _, message: __, ...rest } = volume.status ?? {}
  const status = { ...rest, phase, ...(event && { message: event.message }) }
  const written = await volumes.assume(client.updateStatus(persistentVolumes, { ...volume, status }))
  if (event) recorder.record(written, event)
  return written
}

export async function setClaimStatus(
  { client, claims }: Writing,
  claim: PersistentVolumeClaim,
  status: PersistentVolumeClaimStatus,
): Promise<PersistentVolumeClaim> {
  if (status === claim.status) return claim
  return claims.assume(client.updateStatus(persistentVolumeClaims, { ...claim, status }))
}
