/** Accessors for pod specs in admission plugins. */
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { matchesResource, type AdmissionPlugin, type Operation } from '../admission-chain.ts'

/** A `handles` function for these operations on pods or the given pod subresources. */
export function podWrites(
  operations: readonly Operation[],
  subresources: readonly string[] = [''],
): NonNullable<AdmissionPlugin['handles']> {
  return target => operations.includes(target.operation) && matchesResource(target, 'pods', subresources)
}

/** The spec with `containers` always present; validation later rejects a pod without containers. */
export function specOf({ spec }: Pick<Pod, 'spec'>): PodSpec {
  return spec?.containers === undefined ? { ...spec, containers: [] } : spec
}

export function withSpec(pod: Pod, fields: Partial<PodSpec>): Pod {
  return { ...pod, spec: { ...specOf(pod), ...fields } }
}

/** Init containers, regular containers, then ephemeral containers. */
export function allContainers({
  initContainers = [],
  containers,
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers]
}

/** Marks mirror pods, which represent a kubelet's static pods in the API. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, mirrorAnnotation)
}
