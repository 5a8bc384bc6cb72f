import type { Pod, TopologySpreadConstraint } from '#/api/generated/core/v1.ts'
import { labelOf, type Labels } from '#/api/labels.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import {
  compileLabelSelector,
  selectorOf,
  type Requirement,
  type Selector,
} from '#/api/selectors/selector.ts'
import { doNotScheduleEffects, findMatchingUntoleratedTaint } from '#/api/core/taints.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { requiredNodeAffinityOf } from '../node-affinity.ts'
import type { NodeMatcher, PodMatcher } from '../pod-counts.ts'

/** A compiled topology spread constraint. */
export interface Constraint {
  readonly topologyKey: string
  readonly maxSkew: number
  readonly minDomains: number
  readonly selector: Selector
  /** The pods to count. */
  readonly pods: PodMatcher
  /**
   * nodeAffinityPolicy and nodeTaintsPolicy: true if only nodes count that match the pod's node affinity, or
   * its tolerations.
   */
  readonly honorsAffinity: boolean
  readonly honorsTaints: boolean
}

/** Values of whenUnsatisfiable. */
export type Action = 'DoNotSchedule' | 'ScheduleAnyway'

/** `selector` overrides the selectors of the constraints. */
export function constraintsOf(
  { namespace, labels }: Pick<PodInfo, 'namespace' | 'labels'>,
  constraints: readonly TopologySpreadConstraint[],
  selector?: Selector,
): readonly Constraint[] {
  return constraints.map(constraint => {
    const chosen = selector ?? selectorFor(constraint, labels)
    return {
      topologyKey: constraint.topologyKey,
      maxSkew: constraint.maxSkew,
      minDomains: constraint.minDomains ?? 1,
      selector: chosen,
      pods: podMatcherOf(chosen, namespace),
      honorsAffinity: (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor',
      honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
    }
  })
}

/** matchLabelKeys are merged here for pods where the API server has not merged them into the selector. */
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

/** A selector that matches everything counts no pods, as in Kubernetes. */
function podMatcherOf(selector: Selector, namespace: string): PodMatcher {
  return {
    key: `${namespace}\n${selector.selectsNothing ? '-' : selector.toString()}`,
    matches: pod =>
      pod.namespace === namespace &&
      !selector.isEmpty &&
      selector.matches(pod.labels) &&
      !isBeingDeleted(pod.pod),
    selector,
  }
}

/** The nodes that count for a constraint, with all of these label keys; undefined if all nodes count. */
export function nodesOf(
  { pod }: PodInfo,
  { honorsAffinity, honorsTaints }: Constraint,
  keys: readonly string[],
): NodeMatcher | undefined {
  const affinity = honorsAffinity ? affinityOf(pod) : undefined
  // Its own key is required anyway, because nodes without it are in no domain.
  const others = keys.length > 1 ? keys : []
  if (affinity === undefined && !honorsTaints && others.length === 0) return undefined
  const tolerations = honorsTaints ? (pod.spec?.tolerations ?? []) : undefined
  const makeTest = (): NodeTest => {
    const isWanted = affinity === undefined ? undefined : requiredNodeAffinityOf(pod)
    return ({ node, labels }) => {
      if (!hasKeys(labels, others)) return false
      if (isWanted !== undefined && !isWanted(node)) return false
      return (
        !honorsTaints ||
        findMatchingUntoleratedTaint(node.spec?.taints, tolerations, doNotScheduleEffects) === undefined
      )
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
