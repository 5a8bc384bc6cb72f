import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { labelOf } from '#/api/labels.ts'
import { clusterEventWithHint, type ClusterEventWithHint } from '../../framework.ts'
import { podInfoOf } from '../../pod-info.ts'
import { scheduledPodChange } from '../scheduled-pod-change.ts'
import { hasKeys, type Constraint } from './constraints.ts'

export type ConstraintsOf = (waiting: Stored<Pod>) => readonly Constraint[]

export function eventsToRegisterWith(constraintsOf: ConstraintsOf): readonly ClusterEventWithHint[] {
  return [
    clusterEventWithHint({
      resource: pods,
      on: ['add', 'update', 'delete'],
      queueingHint: (waiting, change) => isPodHelpful(waiting, change, constraintsOf),
    }),
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update', 'delete'],
      queueingHint: (waiting, { before, after }) => isNodeHelpful(constraintsOf(waiting), before, after),
    }),
  ]
}

/** True if the change affects the count of a constraint. */
function isPodHelpful(
  waiting: Stored<Pod>,
  change: { readonly before?: Stored<Pod>; readonly after?: Stored<Pod> },
  constraintsOf: ConstraintsOf,
): boolean {
  const { was, is } = scheduledPodChange(change)
  const { uid, namespace } = waiting.metadata
  const other = (is ?? was)?.metadata
  if (is !== undefined && other?.uid === uid) return true
  if (other?.namespace !== namespace) return false
  const [wasInfo, isInfo] = [was && podInfoOf(was), is && podInfoOf(is)]
  return constraintsOf(waiting).some(({ pods: { matches }, selector }) => {
    // A terminating pod already did not count, but its removal may be the first event seen.
    if (isInfo === undefined) return wasInfo !== undefined && selector.matches(wasInfo.labels)
    return matches(isInfo) !== (wasInfo !== undefined && matches(wasInfo))
  })
}

/** True if a counted node was added, removed or moved to another domain, or if its taints changed. */
function isNodeHelpful(
  constraints: readonly Constraint[],
  before: Node | undefined,
  after: Node | undefined,
): boolean {
  const keys = constraints.map(({ topologyKey }) => topologyKey)
  const [old, now] = [before?.metadata.labels, after?.metadata.labels]
  const did = before !== undefined && hasKeys(old, keys)
  const does = after !== undefined && hasKeys(now, keys)
  if (before === undefined || after === undefined || did !== does) return did || does
  const isMoved = keys.some(key => labelOf(old, key) !== labelOf(now, key))
  return does && (isMoved || !equalJson(before.spec?.taints, after.spec?.taints))
}
