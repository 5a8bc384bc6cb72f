import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { labelOf } from '#/api/labels.ts'
import { clusterEventWithHint, type ClusterEventWithHint } from '../../framework.ts'
import { podInfoOf, type PodInfo } from '../../pod-info.ts'
import { scheduledPodChange } from '../scheduled-pod-change.ts'
import type { Namespaces } from './namespaces.ts'
import { termMatchesPod, podMatcherOf } from './term.ts'

export function eventsToRegisterWith(namespaces: Namespaces): readonly ClusterEventWithHint[] {
  return [
    clusterEventWithHint({
      resource: pods,
      on: ['add', 'update', 'delete'],
      queueingHint: (waiting, change) => isPodHelpful(waiting, change, namespaces),
    }),
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update'],
      queueingHint: (waiting, { before, after }) => isNodeHelpful(podInfoOf(waiting), before, after),
    }),
  ]
}

/** True if a pod matching the affinity was added, or if a pod with an anti-affinity conflict was removed. */
function isPodHelpful(
  waiting: Stored<Pod>,
  change: { readonly before?: Stored<Pod>; readonly after?: Stored<Pod> },
  namespaces: Namespaces,
): boolean {
  const pod = podInfoOf(waiting)
  const { was, is } = scheduledPodChange(change)
  if (is !== undefined && is.metadata.uid === pod.uid) return true
  const isUnmoved = was !== undefined && is !== undefined
  if (isUnmoved && equalJson(was.metadata.labels, is.metadata.labels)) return false
  const [wasInfo, isInfo] = [was && podInfoOf(was), is && podInfoOf(is)]
  const near = pod.requiredAffinity.map(term => podMatcherOf(term, namespaces))
  const isNear = (info: PodInfo | undefined): boolean =>
    info !== undefined && near.length > 0 && near.every(matcher => matcher.matches(info))
  if (isNear(isInfo) && !isNear(wasInfo)) return true
  if (wasInfo === undefined) return false
  const far = pod.requiredAntiAffinity.map(term => podMatcherOf(term, namespaces))
  if (far.some(matcher => matcher.matches(wasInfo) && !(isInfo !== undefined && matcher.matches(isInfo))))
    return true
  const namespaceLabels = namespaces.labelsOf(pod.namespace)
  return (
    isInfo === undefined &&
    wasInfo.requiredAntiAffinity.some(term => termMatchesPod(term, pod, namespaceLabels))
  )
}

/** True if the node moved to another domain of one of the terms. */
function isNodeHelpful(pod: PodInfo, before: Node | undefined, after: Node | undefined): boolean {
  if (before === undefined && pod.requiredAntiAffinity.length > 0) return true
  const valueOf = (node: Node | undefined, key: string): string | undefined =>
    labelOf(node?.metadata.labels, key)
  const isInAnother = (key: string): boolean => valueOf(before, key) !== valueOf(after, key)
  return (
    pod.requiredAffinity.some(
      ({ topologyKey: key }) => valueOf(after, key) !== undefined && isInAnother(key),
    ) ||
    pod.requiredAntiAffinity.some(
      ({ topologyKey: key }) => valueOf(before, key) !== undefined && isInAnother(key),
    )
  )
}
