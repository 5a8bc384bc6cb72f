/** Pods, as plugins look at them and change them. */
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { isAbout, type AdmissionPlugin, type Operation } from './admission.ts'

/** Writes of pods, of these kinds, to the pods themselves or to these subresources. */
export function podWrites(
  operations: readonly Operation[],
  subresources: readonly string[] = [''],
): NonNullable<AdmissionPlugin['handles']> {
  return target => operations.includes(target.operation) && isAbout(target, 'pods', subresources)
}

/** The spec, with a list of containers even where a client has sent none: validation says so later. */
export function specOf({ spec }: Pick<Pod, 'spec'>): PodSpec {
  return spec?.containers === undefined ? { ...spec, containers: [] } : spec
}

export function withSpec(pod: Pod, fields: Partial<PodSpec>): Pod {
  return { ...pod, spec: { ...specOf(pod), ...fields } }
}

/** Init containers, then regular ones, then those that debug. */
export function allContainers({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers]
}

/** A mirror pod shows what a node runs by itself. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirror({ metadata }: Pod): boolean {
  return metadata?.annotations !== undefined && Object.hasOwn(metadata.annotations, mirrorAnnotation)
}
