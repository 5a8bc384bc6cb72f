import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { type PluginFactory, type Unschedulable, clusterEventWithHint } from '../framework.ts'

const unschedulable: Unschedulable = {
  reason: "node(s) didn't match Pod's required features",
  isUnresolvable: true,
}

/**
 * Filters out nodes that do not declare a feature which the pod needs.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-declared-features/
 */
export const nodeDeclaredFeatures: PluginFactory = () => ({
  name: 'NodeDeclaredFeatures',
  eventsToRegister: [
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update'],
      queueingHint: (_pod, { before, after }) =>
        before === undefined || !equalJson(before.status?.declaredFeatures, after?.status?.declaredFeatures),
    }),
    clusterEventWithHint({
      resource: pods,
      on: ['update'],
      queueingHint: (pod, { before, after }) =>
        after?.metadata.uid === pod.metadata.uid &&
        !equalJson(before && requiredFeatures(before), requiredFeatures(after)),
    }),
  ],
  preFilter: ({ pod }) => {
    const required = requiredFeatures(pod)
    if (required.length === 0) return undefined
    return {
      filter: ({ node }) => {
        const declared = node.status?.declaredFeatures ?? []
        return required.every(feature => declared.includes(feature)) ? undefined : unschedulable
      },
    }
  },
})

/** Sorted by name. */
function requiredFeatures({ spec }: Pod): readonly string[] {
  const { containers = [], initContainers = [], hostNetwork = false, hostUsers = true } = spec ?? {}
  const restartsAll = [...containers, ...initContainers].some(restartsAllContainers)
  if (!restartsAll && (hostUsers || !hostNetwork)) return none
  return [
    ...(restartsAll ? ['RestartAllContainersOnContainerExits'] : []),
    ...(hostNetwork && !hostUsers ? ['UserNamespacesHostNetworkSupport'] : []),
  ]
}

const none: readonly string[] = []

function restartsAllContainers({ restartPolicyRules }: Container): boolean {
  return restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') ?? false
}
