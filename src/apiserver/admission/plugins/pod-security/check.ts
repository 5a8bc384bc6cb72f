/**
 * A control of the Pod Security Standards: its check for each version and the texts of its violations.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
import type { Container, PodSpec } from '#/api/generated/core/v1.ts'
import type { ObjectMeta } from '#/api/metadata.ts'
import { allContainers } from '../pod-spec.ts'

/** The parts of a pod or pod template that are checked. */
export interface PodToCheck {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
}

export interface Violation {
  /** Short form for lists of pods, e.g. `hostPort`. */
  readonly reason: string
  /** Full text that names the offending fields and containers. */
  readonly detail: string
}

export type CheckPod = (pod: PodToCheck) => Violation | undefined

export interface Check {
  /** Sort key: baseline checks run first, then by id. */
  readonly id: string
  readonly level: 'baseline' | 'restricted'
  /** Ascending by version; each entry applies until the next one. */
  readonly versions: readonly VersionedCheck[]
}

interface VersionedCheck {
  readonly since: number
  readonly check: CheckPod
  /** Id of the baseline check that this restricted check replaces. */
  readonly overrides?: string
}

/** Names of the containers for which `isSo` returns true. */
export function containersMatching(
  { spec }: PodToCheck,
  isSo: (container: Container) => boolean,
): readonly string[] {
  return allContainers(spec)
    .filter(isSo)
    .map(container => container.name)
}

/** `container "a"`, `containers "a", "b"`. */
export function describeContainers(names: readonly string[]): string {
  return `${plural(names.length, 'container')} ${quoted(names)}`
}

/** Subject of a violation, e.g. `pod and containers "a", "b"`; empty if nothing violates. */
export function describeViolators(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [describeContainers(containers)] : [])].join(
    ' and ',
  )
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many
}

export function quoted(texts: readonly string[]): string {
  return texts.map(text => `"${text}"`).join(', ')
}

/** Deduplicated and sorted. */
export function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort()
}

/** Skips controls that do not exist on Windows; validation rejects Windows pods that set those fields. */
export function unlessWindows(check: CheckPod): CheckPod {
  return pod => (pod.spec.os?.name === 'windows' ? undefined : check(pod))
}

/** Skips the check for pods in a user namespace: their root user is unprivileged on the host. */
export function unlessUserNamespace(check: CheckPod): CheckPod {
  return pod => (pod.spec.hostUsers === false ? undefined : check(pod))
}
