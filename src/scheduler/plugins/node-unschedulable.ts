import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { tolerates } from '#/api/core/taints.ts'
import { type PluginFactory, type Unschedulable, clusterEventWithHint } from '../framework.ts'

const unschedulable: Unschedulable = { reason: 'node(s) were unschedulable', isUnresolvable: true }

const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

/** Filters out cordoned nodes, unless the pod tolerates it. */
export const nodeUnschedulable: PluginFactory = () => ({
  name: 'NodeUnschedulable',
  eventsToRegister: [
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update'],
      queueingHint: (_pod, { before, after }) => isOpened(before, after),
    }),
    clusterEventWithHint({
      resource: pods,
      on: ['update'],
      queueingHint: (pod, { after }) => after?.metadata.uid === pod.metadata.uid,
    }),
  ],
  preFilter: ({ pod }, { unschedulableNodes }) =>
    unschedulableNodes === 0 || isTolerated(pod)
      ? undefined
      : { filter: ({ node }) => (node.spec?.unschedulable ? unschedulable : undefined) },
})

function isTolerated({ spec }: Pod): boolean {
  return spec?.tolerations?.some(toleration => tolerates(toleration, taint)) ?? false
}

function isOpened(before: Node | undefined, after: Node | undefined): boolean {
  return after?.spec?.unschedulable !== true && (before === undefined || before.spec?.unschedulable === true)
}
