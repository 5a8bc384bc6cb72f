/**
 * QoS class of a pod, which determines the eviction order under node pressure.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
 */
import type { Pod, PodSpec, ResourceRequirements } from '../generated/core/v1.ts'
import { amountsOf } from './resource-amounts.ts'
import { addQuantities, compareQuantities, zeroQuantity, type Quantity } from '../text/quantity.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

/** The QoS class from the status; it is set on creation and immutable. */
export function qosClassOf(pod: Pod): QosClass {
  const { qosClass } = pod.status ?? {}
  if (qosClass === 'Guaranteed' || qosClass === 'Burstable' || qosClass === 'BestEffort') return qosClass
  return computedQosClass(pod.spec ?? { containers: [] })
}

/** Computes the QoS class from the spec. */
export function computedQosClass(spec: PodSpec): QosClass {
  const requests = new Map<string, Quantity>()
  const limits = new Map<string, Quantity>()
  let allLimited = true
  for (const resources of decidingResources(spec)) {
    collect(requests, resources.requests)
    const count = collect(limits, resources.limits)
    // Pod-level resources may omit limits; a container must set them.
    const isSilent = spec.resources !== undefined && Object.keys(resources.limits ?? {}).length === 0
    if (count < computeResources.length && !isSilent) allLimited = false
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  const isExact =
    requests.size === limits.size &&
    [...requests].every(([name, request]) => {
      const limit = limits.get(name)
      return limit !== undefined && compareQuantities(limit, request) === 0
    })
  return allLimited && isExact ? 'Guaranteed' : 'Burstable'
}

const computeResources = ['cpu', 'memory']

/** Pod-level resources take precedence over those of the containers. */
function decidingResources(spec: PodSpec): readonly ResourceRequirements[] {
  if (spec.resources !== undefined) return [spec.resources]
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(
    container => container.resources ?? {},
  )
}

/** Adds cpu and memory to the sums, and returns how many of the two are set. */
function collect(sums: Map<string, Quantity>, list: ResourceRequirements['limits']): number {
  const amounts = amountsOf(list)
  const asked = computeResources.filter(name => (amounts.get(name) ?? zeroQuantity).nanos > 0n)
  for (const name of asked) {
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amounts.get(name) ?? zeroQuantity))
  }
  return asked.length
}
