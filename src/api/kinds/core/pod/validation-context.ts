/** What the rules of a part of a pod depend on beyond the part itself. */
import type { PodSpec, Volume } from '../../../generated/core/v1.ts'
import type { ObjectMeta } from '../../../metadata.ts'

/** Where a pod spec stands. */
export interface SpecContext {
  /** The metadata of the pod; absent for a template, which says less and is held to less. */
  readonly pod?: ObjectMeta
}

export interface ContainerContext {
  readonly spec: PodSpec
  /** The volumes in which nothing is wrong, by name. */
  readonly volumes: ReadonlyMap<string, Volume>
  /** The names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>
}

/** Static pods, which a kubelet runs without being asked, have a mirror in the API that says so. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirrorPod(metadata: ObjectMeta | undefined): boolean {
  return metadata?.annotations?.[mirrorAnnotation] !== undefined
}
