/**
 * A control of the Pod Security Standards: what it forbids, since which version, and how that is said.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
import type { Container, PodSpec } from '#/api/generated/core/v1.ts'
import type { ObjectMeta } from '#/api/metadata.ts'
import { allContainers } from '../pod-spec.ts'

/** What decides about a pod, or about the template of one. */
export interface CheckedPod {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
}

export interface Violation {
  /** In few words, for a list of pods: `hostPort`. */
  readonly reason: string
  /** With what of the pod is wrong. */
  readonly detail: string
}

export type CheckPod = (pod: CheckedPod) => Violation | undefined

export interface Check {
  /** Checks run in the order of their names, those of the baseline first. */
  readonly id: string
  readonly level: 'baseline' | 'restricted'
  /** Oldest first; each holds until the next. */
  readonly versions: readonly VersionedCheck[]
}

interface VersionedCheck {
  readonly since: number
  readonly check: CheckPod
  /** The check of the baseline that this stricter one makes needless. */
  readonly overrides?: string
}

/** The names of containers for which something is so. */
export function containersThat(
  { spec }: CheckedPod,
  isSo: (container: Container) => boolean,
): readonly string[] {
  return allContainers(spec)
    .filter(isSo)
    .map(container => container.name)
}

/** `container "a"`, `containers "a", "b"`. */
export function theContainers(names: readonly string[]): string {
  return `${plural(names.length, 'container')} ${quoted(names)}`
}

/** `pod and containers "a", "b"`: who set something wrong. Empty when nobody did. */
export function setters(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [theContainers(containers)] : [])].join(
    ' and ',
  )
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many
}

export function quoted(texts: readonly string[]): string {
  return texts.map(text => `"${text}"`).join(', ')
}

/** Each once, in order. */
export function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort()
}

/** Windows has none of what some controls are about; validation refuses pods that say otherwise. */
export function unlessWindows(check: CheckPod): CheckPod {
  return pod => (pod.spec.os?.name === 'windows' ? undefined : check(pod))
}

/** Root in a user namespace of its own is nobody outside. */
export function unlessUserNamespace(check: CheckPod): CheckPod {
  return pod => (pod.spec.hostUsers === false ? undefined : check(pod))
}
