import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { tolerates } from '#/api/taints.ts'
import { type PluginFactory, type Refusal, wakeUp } from '../framework.ts'

const refusal: Refusal = { reason: 'node(s) were unschedulable', isFinal: true }

const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

/** Refuses cordoned nodes, unless the pod tolerates it. */
export const nodeUnschedulable: PluginFactory = () => ({
  name: 'NodeUnschedulable',
  wakeUps: [
    wakeUp({
      resource: nodes,
      on: ['add', 'update'],
      isHelpful: (_pod, { before, after }) => isOpened(before, after),
    }),
    wakeUp({
      resource: pods,
      on: ['update'],
      isHelpful: (pod, { after }) => after?.metadata?.uid === pod.metadata?.uid,
    }),
  ],
  filter: ({ pod }) =>
    isTolerated(pod) ? undefined : { test: ({ node }) => (node.spec?.unschedulable ? refusal : undefined) },
})

function isTolerated({ spec }: Pod): boolean {
  return spec?.tolerations?.some(toleration => tolerates(toleration, taint)) ?? false
}

function isOpened(before: Node | undefined, after: Node | undefined): boolean {
  return after?.spec?.unschedulable !== true && (before === undefined || before.spec?.unschedulable === true)
}
