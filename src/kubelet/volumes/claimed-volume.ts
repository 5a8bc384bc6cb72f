/** Resolves a claim of a pod, or its ephemeral claim, to the persistent volume. */
import { compileNodeSelector } from '#/api/selectors/node-selector.ts'
import { ephemeralClaimName, isClaimForPod } from '#/api/core/pod-volumes.ts'
import type { PersistentVolume, PersistentVolumeClaim, Volume } from '#/api/generated/core/v1.ts'
import type { Labels } from '#/api/labels.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodObjects } from '../pod-objects.ts'
import { VolumeStepError } from './volume-plugin.ts'

/**
 * The volume cannot be resolved. Unlike a mount failure, it is reported immediately with the summary event of
 * the pod.
 */
export class VolumeResolutionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VolumeResolutionError'
  }
}

export interface ClaimRequest {
  readonly objects: PodObjects
  readonly pod: KubeletPod
  readonly volume: Volume
  /** True if containers use the volume in `volumeMounts` (`isMounted`) or in `volumeDevices` (`isDevice`). */
  readonly isMounted: boolean
  readonly isDevice: boolean
  readonly signal: AbortSignal
}

export function isClaim({ persistentVolumeClaim, ephemeral }: Volume): boolean {
  return persistentVolumeClaim !== undefined || ephemeral !== undefined
}

export async function claimedVolume(request: ClaimRequest): Promise<Stored<PersistentVolume>> {
  const { pod, volume, objects, signal } = request
  const namespace = pod.metadata.namespace
  const name = volume.persistentVolumeClaim?.claimName ?? ephemeralClaimName(pod, volume.name)
  const fail = (reason: string): never => {
    throw new VolumeResolutionError(`error processing PVC ${namespace}/${name}: ${reason}`)
  }
  const claim = await asking(() => objects.claim(namespace, name, signal), signal).catch((error: Error) =>
    fail(`failed to fetch PVC from API server: ${error.message}`),
  )
  if (claim === undefined) {
    return fail(`failed to fetch PVC from API server: persistentvolumeclaims "${name}" not found`)
  }
  const problem = claimProblem(claim)
  if (problem !== undefined) return fail(problem)
  if (volume.persistentVolumeClaim === undefined && !isClaimForPod(claim, pod)) {
    const podName = `${namespace}/${pod.metadata.name}`
    throw new VolumeResolutionError(
      `PVC ${namespace}/${name} was not created for pod ${podName} (pod is not owner)`,
    )
  }
  const volumeName = claim.spec?.volumeName ?? ''
  const found = await asking(() => objects.persistentVolume(volumeName, signal), signal).catch(
    (error: Error) => fail(`failed to fetch PV ${volumeName} from API server: ${error.message}`),
  )
  if (found === undefined) {
    return fail(
      `failed to fetch PV ${volumeName} from API server: persistentvolumes "${volumeName}" not found`,
    )
  }
  const mismatch = volumeProblem(found, claim)
  if (mismatch !== undefined) return fail(mismatch)
  checkMode(request, found)
  return found
}

/** Rethrows an abort as such instead of as an API error. */
async function asking<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await ask()
  } finally {
    signal.throwIfAborted()
  }
}

const protection = 'kubernetes.io/pvc-protection'

export function claimProblem(claim: PersistentVolumeClaim): string | undefined {
  const isProtected = claim.metadata.finalizers?.includes(protection) ?? false
  if (isBeingDeleted(claim) && !isProtected) return 'PVC is being deleted'
  if (claim.status?.phase !== 'Bound') return 'PVC is not bound'
  return claim.spec?.volumeName ? undefined : 'PVC has empty pvc.Spec.VolumeName'
}

export function volumeProblem(
  volume: Stored<PersistentVolume>,
  claim: Stored<PersistentVolumeClaim>,
): string | undefined {
  const name = volume.metadata.name
  const { claimRef } = volume.spec ?? {}
  const uid = claim.metadata.uid
  if (claimRef === undefined) {
    return `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`
  }
  if (claimRef.uid === uid) return undefined
  return `found PV object ${name} but its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${uid}`
}

function checkMode({ volume, isMounted, isDevice }: ClaimRequest, { spec }: PersistentVolume): void {
  const mode = spec?.volumeMode ?? 'Filesystem'
  const refuse = (field: string): never => {
    throw new VolumeResolutionError(
      `volume ${volume.name} has volumeMode ${mode}, but is specified in ${field}`,
    )
  }
  if (isMounted && mode !== 'Filesystem') refuse('volumeMounts')
  if (isDevice && mode !== 'Block') refuse('volumeDevices')
}

/** A volume on a different node would appear empty here. */
export function checkNodeAffinity({ spec }: PersistentVolume, labels: Labels): void {
  const { required } = spec?.nodeAffinity ?? {}
  if (required === undefined) return
  if (compileNodeSelector(required)({ metadata: { labels } })) return
  const step = spec?.volumeMode === 'Block' ? 'MapVolume' : 'MountVolume'
  throw new VolumeStepError(`${step}.NodeAffinity check failed`, 'no matching NodeSelectorTerms')
}

const groupAnnotation = 'pv.beta.kubernetes.io/gid'

/** Supplemental group that grants containers access to the volume. */
export function groupOfVolume({ metadata }: PersistentVolume): number | undefined {
  const text = metadata.annotations?.[groupAnnotation]
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}
