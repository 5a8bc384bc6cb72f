/** What pods ask for, as those ask who look at them from outside: admission, and whoever places them. */
import type { Pod, PodSpec } from './generated/core/v1.ts'
import { aggregateContainers, amountsOf, type Amounts } from './kinds/core/pod/resource-amounts.ts'
import { isExtended, isPodLevel } from './kinds/core/pod/resource-names.ts'
import { addQuantities, zeroQuantity } from './quantity.ts'
import { qosClassOf } from './qos-class.ts'

/** The most that the pod asks for at any moment: what it says as a whole, and otherwise what its containers come to. */
export function podAmounts(spec: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const sums = new Map(aggregateContainers(spec, kind))
  for (const [name, amount] of amountsOf(spec.resources?.[kind])) if (isPodLevel(name)) sums.set(name, amount)
  return sums
}

/** What the scheduler sets aside for the pod: what it asks for, and what running it costs beside that. */
export function podRequests(spec: PodSpec): Amounts {
  const sums = new Map(podAmounts(spec, 'requests'))
  for (const [name, amount] of amountsOf(spec.overhead))
    sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amount))
  return sums
}

/** The pod asks for nothing, and is the first to go when its node runs short. */
export function isBestEffort(pod: Pod): boolean {
  return qosClassOf(pod) === 'BestEffort'
}

/** Whether a resource is one that somebody else announces, such as `example.com/gpu`. */
export function isExtendedResource(name: string): boolean {
  return isExtended(name)
}
