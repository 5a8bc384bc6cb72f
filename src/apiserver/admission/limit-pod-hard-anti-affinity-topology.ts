/**
 * Pods may insist on being apart only by node: whoever insists on a whole zone keeps everybody else out of it.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#limitpodhardantiaffinitytopology
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { refused, type AdmissionPlugin } from './admission.ts'
import { podWrites } from './pod-spec.ts'

export function limitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    handles: podWrites(['CREATE', 'UPDATE']),
    validate(request) {
      const { affinity } = (request.object as Pod).spec ?? {}
      const terms = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
      const wider = terms.find(term => term.topologyKey !== hostname)
      if (wider === undefined) return
      throw refused(
        request,
        'affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ' +
          `${wider.topologyKey} but only key ${hostname} is allowed`,
      )
    },
  }
}

const hostname = 'kubernetes.io/hostname'
