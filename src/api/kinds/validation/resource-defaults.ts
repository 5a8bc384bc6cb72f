/** Defaulting of requests from limits, for containers and at pod level. */
import type { PodSpec, ResourceRequirements } from '../../generated/core/v1.ts'
import { formatQuantity, quantityFromMilli, quantityMilliValue } from '../../text/quantity.ts'
import { aggregateContainerResources, quantityOf, type ResourceList } from '../../core/resource-amounts.ts'
import {
  isHugePageResourceName,
  isOvercommitAllowed,
  isSupportedPodLevelResource,
} from '../../core/resource-names.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'

/** Rounds up to milli units, the finest granularity supported. */
export function withRoundedResources(resources: ResourceRequirements): ResourceRequirements {
  return withField(withField(resources, 'limits', roundUp), 'requests', roundUp)
}

export function roundUp(list: ResourceList): ResourceList {
  let changed: Record<string, string> | undefined
  for (const [name, text] of Object.entries(list)) {
    const quantity = quantityOf(text)
    if (quantity.nanos % 1_000_000n === 0n) continue
    const rounded = formatQuantity(quantityFromMilli(quantityMilliValue(quantity), quantity.format))
    changed = { ...(changed ?? list), [name]: rounded }
  }
  return changed ?? list
}

/** A limit without a request sets the request to the limit. */
export function withRequests(spec: PodSpec): PodSpec {
  const regular = withField(spec, 'containers', list => mapCopyOnWrite(list, withRequestsFromLimits))
  const all = withField(regular, 'initContainers', list => mapCopyOnWrite(list, withRequestsFromLimits))
  return withField(all, 'resources', resources => withPodRequests(withPodLimits(resources, all), all))
}

function withRequestsFromLimits<C extends { readonly resources?: ResourceRequirements }>(container: C): C {
  const { limits, requests } = container.resources ?? {}
  if (limits === undefined) return container
  const isComplete =
    requests !== undefined &&
    Object.keys(limits).every(name => {
      return Object.hasOwn(requests, name)
    })
  if (isComplete) return container
  return { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } }
}

/** Hugepage limits of the containers become pod-level limits, unless the pod sets the resource. */
function withPodLimits(resources: ResourceRequirements, spec: PodSpec): ResourceRequirements {
  const { limits = {}, requests = {} } = resources
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return resources
  const added = [...aggregateContainerResources(spec, 'limits')].filter(([name]) => {
    return isHugePageResourceName(name) && !Object.hasOwn(requests, name) && !Object.hasOwn(limits, name)
  })
  if (added.length === 0) return resources
  const more = Object.fromEntries(added.map(([name, amount]) => [name, formatQuantity(amount)]))
  return { ...resources, limits: { ...limits, ...more } }
}

/** Pod-level requests default to the sum of the container requests, otherwise to the pod-level limits. */
function withPodRequests(resources: ResourceRequirements, spec: PodSpec): ResourceRequirements {
  const { limits = {}, requests = {} } = resources
  if (Object.keys(limits).length === 0) return resources
  const fromContainers = [...aggregateContainerResources(spec, 'requests')]
    .filter(([name]) => isSupportedPodLevelResource(name) && isOvercommitAllowed(name))
    .map(([name, amount]) => [name, formatQuantity(amount)] as const)
  const fromLimits = Object.entries(limits).filter(([name]) => isSupportedPodLevelResource(name))
  const asked = { ...Object.fromEntries([...fromLimits, ...fromContainers]), ...requests }
  return Object.keys(asked).length === Object.keys(requests).length
    ? resources
    : { ...resources, requests: asked }
}
