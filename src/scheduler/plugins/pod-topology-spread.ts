/**
 * Spreads pods over topology domains such as nodes or zones. DoNotSchedule constraints filter nodes in
 * domains with too many matching pods; ScheduleAnyway constraints score nodes. Pods without constraints get
 * the default constraints.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
 */
import type { TopologySpreadConstraint } from '#/api/generated/core/v1.ts'
import type { PluginFactory } from '../framework.ts'
import { podInfoOf, type PodInfo } from '../pod-info.ts'
import { podCountsOf } from './pod-counts.ts'
import { constraintsOf, type Action, type Constraint } from './pod-topology-spread/constraints.ts'
import { defaultSelector } from './pod-topology-spread/default-selector.ts'
import { filterStateOf } from './pod-topology-spread/filter.ts'
import { readDefaults } from './pod-topology-spread/args.ts'
import { scoreStateOf } from './pod-topology-spread/score.ts'
import { eventsToRegisterWith } from './pod-topology-spread/events-to-register.ts'

export const podTopologySpread: PluginFactory = (handle, args) => {
  const defaults = readDefaults(args)
  const selectorOf = defaults.constraints.length > 0 ? defaultSelector(handle) : undefined
  const counts = podCountsOf(handle)
  const constraintsFor = (info: PodInfo, action: Action): readonly Constraint[] => {
    const own = info.pod.spec?.topologySpreadConstraints ?? []
    if (own.length > 0) return constraintsOf(info, withAction(own, action))
    const given = withAction(defaults.constraints, action)
    if (given.length === 0 || selectorOf === undefined) return none
    const selector = selectorOf(info.pod)
    return selector.isEmpty ? none : constraintsOf(info, given, selector)
  }
  return {
    name: 'PodTopologySpread',
    eventsToRegister: eventsToRegisterWith(pod => constraintsFor(podInfoOf(pod), 'DoNotSchedule')),
    preFilter: (pod, snapshot) => {
      const constraints = constraintsFor(pod, 'DoNotSchedule')
      return constraints.length === 0 ? undefined : filterStateOf({ pod, snapshot, counts, constraints })
    },
    score: (pod, snapshot, nodes) => {
      const constraints = constraintsFor(pod, 'ScheduleAnyway')
      if (constraints.length === 0) return undefined
      const hasOwn = (pod.pod.spec?.topologySpreadConstraints ?? []).length > 0
      const needsAllKeys = hasOwn || !defaults.isSystem
      return scoreStateOf({ pod, snapshot, nodes, counts, constraints, needsAllKeys })
    },
  }
}

const none: readonly Constraint[] = []

function withAction(
  constraints: readonly TopologySpreadConstraint[],
  action: Action,
): readonly TopologySpreadConstraint[] {
  return constraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
}
