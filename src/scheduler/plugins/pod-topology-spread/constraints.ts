import type { Pod, TopologySpreadConstraint } from '#/api/generated/core/v1.ts'
import { labelOf, type Labels } from '#/api/labels.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { compileLabelSelector, selectorOf, type Requirement, type Selector } from '#/api/selector.ts'
import { placingEffects, untolerated } from '#/api/taints.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { podTest } from '../node-affinity.ts'
import type { NodeKind, PodKind } from '../pod-counts.ts'

/** What a constraint asks of a pod's place, read off once. */
export interface Constraint {
  readonly topologyKey: string
  readonly maxSkew: number
  readonly minDomains: number
  readonly selector: Selector
  /** The pods that are counted. */
  readonly pods: PodKind
  /** Whether only nodes count to which the pod's node selector and affinity let it, or its tolerations. */
  readonly honorsAffinity: boolean
  readonly honorsTaints: boolean
}

/** What happens when a constraint cannot be met. */
export type Action = 'DoNotSchedule' | 'ScheduleAnyway'

/** With a selector in place of what the constraints themselves say. */
export function constraintsOf(
  { namespace, labels }: Pick<PodInfo, 'namespace' | 'labels'>,
  given: readonly TopologySpreadConstraint[],
  action: Action,
  selector?: Selector,
): readonly Constraint[] {
  return given
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map(constraint => {
      const chosen = selector ?? selectorFor(constraint, labels)
      return {
        topologyKey: constraint.topologyKey,
        maxSkew: constraint.maxSkew,
        minDomains: constraint.minDomains ?? 1,
        selector: chosen,
        pods: kindOf(chosen, namespace),
        honorsAffinity: (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor',
        honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
      }
    })
}

/** The API server has merged the keys into the selector of pods that it made itself; others may still have them. */
function selectorFor(
  { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint,
  labels: Labels,
): Selector {
  const selector = compileLabelSelector(labelSelector)
  if (matchLabelKeys.length === 0 || selector.selectsNothing) return selector
  const same = matchLabelKeys.flatMap((key): readonly Requirement[] => {
    const value = labelOf(labels, key)
    return value === undefined ? [] : [{ key, operator: '=', values: [value] }]
  })
  return same.length === 0 ? selector : selectorOf([...selector.requirements, ...same])
}

/** A selector that selects everything counts nobody: that is how the API has it. */
function kindOf(selector: Selector, namespace: string): PodKind {
  return {
    key: `${namespace}\n${selector.selectsNothing ? '-' : selector.toString()}`,
    isOne: pod =>
      pod.namespace === namespace &&
      !selector.isEmpty &&
      selector.matches(pod.labels) &&
      !isBeingDeleted(pod.pod),
  }
}

/** The nodes that count for a constraint; undefined when all do. They must have all of these keys. */
export function nodesOf(
  { pod }: PodInfo,
  { honorsAffinity, honorsTaints }: Constraint,
  keys: readonly string[],
): NodeKind | undefined {
  const affinity = honorsAffinity ? affinityOf(pod) : undefined
  // Every constraint asks for its own key anyway.
  const others = keys.length > 1 ? keys : []
  if (affinity === undefined && !honorsTaints && others.length === 0) return undefined
  const tolerations = honorsTaints ? (pod.spec?.tolerations ?? []) : undefined
  const makeTest = (): NodeTest => {
    const isWanted = affinity === undefined ? undefined : podTest(pod)
    return ({ node, labels }) => {
      if (!hasKeys(labels, others)) return false
      if (isWanted !== undefined && !isWanted(node)) return false
      return !honorsTaints || untolerated(node.spec?.taints, tolerations, placingEffects) === undefined
    }
  }
  let made: NodeTest | undefined
  return { key: JSON.stringify([others, affinity, tolerations]), test: () => (made ??= makeTest()) }
}

type NodeTest = (info: NodeInfo) => boolean

export function hasKeys(labels: Labels | undefined, keys: readonly string[]): boolean {
  return keys.every(key => labelOf(labels, key) !== undefined)
}

function affinityOf({ spec }: Pod): readonly unknown[] | undefined {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const selector = spec?.nodeSelector
  const isAnywhere = required === undefined && Object.keys(selector ?? {}).length === 0
  return isAnywhere ? undefined : [selector, required]
}
