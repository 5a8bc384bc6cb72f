/**
 * The containers of a pod in the three lists of its spec, and common predicates: field path, sidecar, restart
 * decision.
 */
import type { Container, ContainerRestartRule, Pod } from '#/api/generated/core/v1.ts'

export type ContainerKind = 'init' | 'regular' | 'ephemeral'

export interface PodContainer {
  readonly kind: ContainerKind
  readonly container: Container
}

/** In start order. */
export function containersOf({ spec }: Pod): readonly PodContainer[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {}
  return [
    ...initContainers.map(container => ({ kind: 'init' as const, container })),
    ...containers.map(container => ({ kind: 'regular' as const, container })),
    ...ephemeralContainers.map(container => ({ kind: 'ephemeral' as const, container })),
  ]
}

export function findContainer(pod: Pod, name: string): PodContainer | undefined {
  return containersOf(pod).find(({ container }) => container.name === name)
}

/** Field path for events, such as `spec.containers{web}`. */
export function fieldPathOf({ kind, container: { name } }: PodContainer): string {
  return `spec.${lists[kind]}{${name}}`
}

const lists = { init: 'initContainers', regular: 'containers', ephemeral: 'ephemeralContainers' } as const

/** True for a restartable init container. Only valid for init containers. */
export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always'
}

/**
 * Decides whether a container restarts after this exit code: by the first matching restart rule, then by the
 * container's policy, then by the pod's.
 */
export function shouldRestart(pod: Pod, container: Container, exitCode: number): boolean {
  if (container.restartPolicy !== undefined && matchingRule(container, exitCode) !== undefined) return true
  switch (container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always') {
    case 'Never':
      return false
    case 'OnFailure':
      return exitCode !== 0
    default:
      return true
  }
}

/** True if the container restarts after a failure without an exit code, or after being killed. */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never'
}

/** True if its exit restarts all containers of the pod. */
export function restartsAllContainers(container: Container, exitCode: number): boolean {
  return matchingRule(container, exitCode)?.action === 'RestartAllContainers'
}

function matchingRule(
  { restartPolicyRules = [] }: Container,
  exitCode: number,
): ContainerRestartRule | undefined {
  return restartPolicyRules.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false
    const { operator, values = [] } = exitCodes
    return operator === 'In' ? values.includes(exitCode) : operator === 'NotIn' && !values.includes(exitCode)
  })
}
