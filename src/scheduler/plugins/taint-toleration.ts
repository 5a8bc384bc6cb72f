import type { Node, Pod, Taint, Toleration } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { doNotScheduleEffects, findMatchingUntoleratedTaint } from '#/api/core/taints.ts'
import { type PluginFactory, type Unschedulable, clusterEventWithHint } from '../framework.ts'
import { normalizeReversed } from './normalize.ts'

const unschedulable: Unschedulable = { reason: 'node(s) had untolerated taint(s)', isUnresolvable: true }

const preferring = ['PreferNoSchedule'] as const

/** Filters out nodes with untolerated taints, and prefers nodes with few untolerated PreferNoSchedule taints. */
export const taintToleration: PluginFactory = () => ({
  name: 'TaintToleration',
  eventsToRegister: [
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update'],
      queueingHint: (pod, { before, after }) => isLetIn(pod, before, after),
    }),
    clusterEventWithHint({
      resource: pods,
      on: ['update'],
      queueingHint: (pod, { after }) => after?.metadata.uid === pod.metadata.uid,
    }),
  ],
  preFilter: ({ pod }, { nodesWithTaints }) => {
    if (nodesWithTaints === 0) return undefined
    const tolerations = pod.spec?.tolerations
    return {
      filter: ({ node }) => {
        const taints = node.spec?.taints
        if (taints === undefined || taints.length === 0) return undefined
        return findMatchingUntoleratedTaint(taints, tolerations, doNotScheduleEffects) === undefined
          ? undefined
          : unschedulable
      },
    }
  },
  score: ({ pod }, { nodesWithTaints }, infos) => {
    if (nodesWithTaints === 0 || !infos.some(({ node }) => node.spec?.taints?.some(isPreferring)))
      return undefined
    const tolerations = (pod.spec?.tolerations ?? []).filter(
      ({ effect }) => !effect || effect === 'PreferNoSchedule',
    )
    return { score: ({ node }) => countUntolerated(node, tolerations), normalizeScore: normalizeReversed }
  },
})

function isPreferring({ effect }: Taint): boolean {
  return effect === 'PreferNoSchedule'
}

function countUntolerated({ spec }: Node, tolerations: readonly Toleration[]): number {
  return (spec?.taints ?? []).filter(
    taint => findMatchingUntoleratedTaint([taint], tolerations, preferring) !== undefined,
  ).length
}

function isLetIn(pod: Pod, before: Node | undefined, after: Node | undefined): boolean {
  const isOpen = ({ spec }: Node): boolean =>
    findMatchingUntoleratedTaint(spec?.taints, pod.spec?.tolerations, doNotScheduleEffects) === undefined
  return after !== undefined && isOpen(after) && !(before !== undefined && isOpen(before))
}
