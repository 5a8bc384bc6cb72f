/**
 * Allows required pod anti-affinity only with the topology key kubernetes.io/hostname, so that a pod cannot
 * claim a whole zone.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#limitpodhardantiaffinitytopology
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
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
      throw admissionForbidden(
        request,
        'affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ' +
          `${wider.topologyKey} but only key ${hostname} is allowed`,
      )
    },
  }
}

const hostname = 'kubernetes.io/hostname'
