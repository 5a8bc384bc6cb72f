/** Pod resource requests and limits, as used by admission and the scheduler. */
import type { Pod, PodSpec } from '../generated/core/v1.ts'
import { aggregateContainerResources, amountsOf, type Amounts } from './resource-amounts.ts'
import { isExtendedResourceName, isSupportedPodLevelResource } from './resource-names.ts'
import { addQuantities, zeroQuantity } from '../text/quantity.ts'
import { qosClassOf } from './qos-class.ts'

/**
 * The maximum that the pod needs at any time: pod-level resources if set, otherwise the aggregate of its
 * containers.
 */
export function aggregatePodResources(spec: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const sums = new Map(aggregateContainerResources(spec, kind))
  for (const [name, amount] of amountsOf(spec.resources?.[kind]))
    if (isSupportedPodLevelResource(name)) sums.set(name, amount)
  return sums
}

/** The amounts that the scheduler reserves: requests plus pod overhead. */
export function podRequests(spec: PodSpec): Amounts {
  const sums = new Map(aggregatePodResources(spec, 'requests'))
  for (const [name, amount] of amountsOf(spec.overhead))
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amount))
  return sums
}

export function isBestEffort(pod: Pod): boolean {
  return qosClassOf(pod) === 'BestEffort'
}

/** True for an extended resource such as `example.com/gpu`. */
export function isExtendedResource(name: string): boolean {
  return isExtendedResourceName(name)
}
