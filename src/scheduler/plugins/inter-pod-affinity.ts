/**
 * Inter-pod affinity and anti-affinity in a topology such as nodes or zones. Required terms of the incoming
 * pod, and required anti-affinity of existing pods, filter nodes; preferred terms of both score nodes.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
 */
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { formatFieldError, invalid } from '#/api/field-error.ts'
import type { PluginFactory } from '../framework.ts'
import type { PodInfo, WeightedTerm } from '../pod-info.ts'
import { filterStateOf } from './inter-pod-affinity/filter.ts'
import { Namespaces } from './inter-pod-affinity/namespaces.ts'
import { preferencesOf, scoreStateOf } from './inter-pod-affinity/score.ts'
import { TermGroups } from './inter-pod-affinity/term-groups.ts'
import { eventsToRegisterWith } from './inter-pod-affinity/events-to-register.ts'
import { podCountsOf } from './pod-counts.ts'

const weightMax = 100

interface InterPodAffinityArgs {
  /** Score weight of matching a required affinity term of an existing pod. */
  readonly hardPodAffinityWeight?: number
  /** If true, pods without preferred terms are not scored by the preferred terms of existing pods. */
  readonly ignorePreferredTermsOfExistingPods?: boolean
}

export const interPodAffinity: PluginFactory = (handle, args) => {
  // The args were decoded against their schema.
  const { hardPodAffinityWeight = 1, ignorePreferredTermsOfExistingPods = false } =
    args as InterPodAffinityArgs
  if (hardPodAffinityWeight < 0 || hardPodAffinityWeight > weightMax) {
    const detail = `not in valid range [0, ${weightMax}]`
    throw new Error(formatFieldError(invalid('hardPodAffinityWeight', hardPodAffinityWeight, detail)))
  }
  const table = new Namespaces(handle.informer(namespaces))
  const counts = podCountsOf(handle)
  const antiAffinities = new TermGroups({
    topologies: counts.topologies,
    podsOf: info => info.podsWithRequiredAntiAffinity,
    termsOf: pod => pod.requiredAntiAffinity.map(term => ({ weight: 1, term })),
  })
  const preferences = new TermGroups({
    topologies: counts.topologies,
    podsOf: info => info.podsWithAffinity,
    termsOf: pod => wishesOf(pod, hardPodAffinityWeight),
  })
  return {
    name: 'InterPodAffinity',
    eventsToRegister: eventsToRegisterWith(table),
    preFilter: (pod, snapshot) => filterStateOf({ pod, snapshot, namespaces: table, counts, antiAffinities }),
    score: (pod, snapshot) => {
      const prefersNothing = pod.preferredAffinity.length === 0 && pod.preferredAntiAffinity.length === 0
      if (prefersNothing && (ignorePreferredTermsOfExistingPods || snapshot.nodesWithAffinity === 0)) {
        return undefined
      }
      return scoreStateOf({ pod, snapshot, namespaces: table, counts, preferences })
    },
  }
}

/** The terms of an existing pod that affect scores; required affinity counts with a fixed weight. */
function wishesOf(pod: PodInfo, requiredWeight: number): readonly WeightedTerm[] {
  if (requiredWeight === 0 || pod.requiredAffinity.length === 0) return preferencesOf(pod)
  return [...preferencesOf(pod), ...pod.requiredAffinity.map(term => ({ weight: requiredWeight, term }))]
}
