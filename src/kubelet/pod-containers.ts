/**
 * The containers of a pod, in the three lists that its spec has, and the questions that everybody asks of them: where
 * in the spec one stands, whether it is a sidecar, whether it is to run again after it has ended.
 */
import type { Container, ContainerRestartRule, Pod } from '#/api/generated/core/v1.ts'

export type ContainerKind = 'init' | 'regular' | 'ephemeral'

export interface PodContainer {
  readonly kind: ContainerKind
  readonly container: Container
}

/** In the order in which they are started. */
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

/** As events point at it: `spec.containers{web}`. */
export function fieldPathOf({ kind, container: { name } }: PodContainer): string {
  return `spec.${lists[kind]}{${name}}`
}

const lists = { init: 'initContainers', regular: 'containers', ephemeral: 'ephemeralContainers' } as const

/** An init container that goes on running beside the others. Only of init containers may this be asked. */
export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always'
}

/**
 * Whether a container is to run again after it has ended with this code: by the first of its rules that fits, then by
 * its own policy, then by that of the pod.
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

/** Whether it is to run again after it has failed for no reason of its own, or was stopped while it ran. */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return (container.restartPolicy ?? pod.spec?.restartPolicy) !== 'Never'
}

/** Whether its end is the end of all others too: they start anew together. */
export function restartsAll(container: Container, exitCode: number): boolean {
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

/** `web-0_default(uid)`, as messages of the kubelet name a pod. */
export function describePod({ metadata }: Pod): string {
  const { name = '', namespace = '', uid = '' } = metadata ?? {}
  return `${name}_${namespace}(${uid})`
}
