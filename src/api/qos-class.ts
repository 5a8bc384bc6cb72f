/**
 * How safe a pod is when its node runs short: the one that asks for exactly what it may use is the safest.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
 */
import type { Pod, PodSpec, ResourceRequirements } from './generated/core/v1.ts'
import { amountsOf } from './kinds/core/pod/resource-amounts.ts'
import { addQuantities, compareQuantities, zeroQuantity, type Quantity } from './quantity.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

/** It is decided when the pod is made, and stays. */
export function qosClassOf(pod: Pod): QosClass {
  const { qosClass } = pod.status ?? {}
  if (qosClass === 'Guaranteed' || qosClass === 'Burstable' || qosClass === 'BestEffort') return qosClass
  return computedQosClass(pod.spec ?? { containers: [] })
}

/** What the spec as it stands comes to. */
export function computedQosClass(spec: PodSpec): QosClass {
  const requests = new Map<string, Quantity>()
  const limits = new Map<string, Quantity>()
  let allLimited = true
  for (const resources of decidingResources(spec)) {
    collect(requests, resources.requests)
    const count = collect(limits, resources.limits)
    // The pod as a whole need not name limits; a container must.
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

/** What the pod asks for as a whole decides where it does; otherwise its containers do. */
function decidingResources(spec: PodSpec): readonly ResourceRequirements[] {
  if (spec.resources !== undefined) return [spec.resources]
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(
    container => container.resources ?? {},
  )
}

/** Adds what is asked for of processors and memory, and says of how many of them something is. */
function collect(sums: Map<string, Quantity>, list: ResourceRequirements['limits']): number {
  const amounts = amountsOf(list)
  const asked = computeResources.filter(name => (amounts.get(name) ?? zeroQuantity).nanos > 0n)
  for (const name of asked) {
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amounts.get(name) ?? zeroQuantity))
  }
  return asked.length
}
