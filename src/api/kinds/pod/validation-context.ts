/** Context for validating parts of a pod. */
import type { PodSpec, Volume } from '../../generated/core/v1.ts'
import type { ObjectMeta } from '../../metadata.ts'

/** Context of a pod spec. */
export interface SpecContext {
  /** Metadata of the pod; absent for a template, which has fewer requirements. */
  readonly pod?: ObjectMeta
}

/** Context of a volume source. */
export interface VolumeContext extends SpecContext {
  readonly volume: Volume
}

export interface ContainerContext {
  readonly spec: PodSpec
  /** Valid volumes by name. */
  readonly volumes: ReadonlyMap<string, Volume>
  /** Names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>
}

/** Annotation of mirror pods, which represent static pods in the API. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirrorPod(metadata: ObjectMeta | undefined): boolean {
  return metadata?.annotations?.[mirrorAnnotation] !== undefined
}
