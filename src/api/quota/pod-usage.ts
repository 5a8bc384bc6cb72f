/** Quota usage of a pod. */
import { conditionOf } from '../conditions.ts'
import type { Container, ContainerStatus, Pod, PodSpec } from '../generated/core/v1.ts'
import { aggregateContainerResources, amountsOf, type ResourceList } from '../core/resource-amounts.ts'
import {
  isExtendedResourceName,
  isHugePageResourceName,
  isSupportedPodLevelResource,
} from '../core/resource-names.ts'
import { addQuantities, isZeroQuantity, type Quantity } from '../text/quantity.ts'
import { parseTime } from '../text/time.ts'
import { addAmounts, maxAmounts, one, pick, type Amounts } from './amounts.ts'
import { objectCountName } from './evaluator.ts'

const count = objectCountName('', 'pods')
const onlyCounted: Amounts = new Map([[count, one]])

/** A finished pod counts as an object but uses no other resources. */
export function podUsage(pod: Pod, nowMs: number): Amounts {
  if (hasEnded(pod, nowMs)) return onlyCounted
  const usage = computeUsage(podRequests(pod), podLimits(pod))
  return usage.set('pods', one).set(count, one)
}

/** Quota usage of a single container. */
export function containerUsage({ resources }: Container): Amounts {
  return computeUsage(amountsOf(resources?.requests), amountsOf(resources?.limits))
}

/** Also true for a pod whose grace period has passed: its node may be lost, and its quota is needed. */
function hasEnded({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return true
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false
  return nowMs > (parseTime(deletionTimestamp) ?? nowMs) + Number(deletionGracePeriodSeconds) * 1_000
}

function computeUsage(requests: Amounts, limits: Amounts): Map<string, Quantity> {
  const usage = new Map<string, Quantity>()
  for (const [name, amount] of requests) {
    if (computeResources.has(name) || isHugePageResourceName(name))
      usage.set(name, amount).set(`requests.${name}`, amount)
    else if (isExtendedResourceName(name) || name.startsWith(deviceClass))
      usage.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of limits) if (computeResources.has(name)) usage.set(`limits.${name}`, amount)
  return usage
}

const computeResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])
const deviceClass = 'deviceclass.resource.kubernetes.io/'

function podRequests(pod: Pod): Amounts {
  const { spec = noSpec } = pod
  const asked = maxAmounts(
    [
      ...wantedSpecs(pod),
      ...statedSpecs(pod, 'requests', status => status.allocatedResources),
      ...statedSpecs(pod, 'requests', status => status.resources?.requests ?? status.allocatedResources),
    ].map(each => aggregateContainerResources(each, 'requests')),
  )
  return addAmounts(withPodLevel(asked, spec.resources?.requests), amountsOf(spec.overhead))
}

function podLimits(pod: Pod): Amounts {
  const { spec = noSpec } = pod
  const asked = maxAmounts(
    [...wantedSpecs(pod), ...statedSpecs(pod, 'limits', status => status.resources?.limits)].map(each =>
      aggregateContainerResources(each, 'limits'),
    ),
  )
  const limits = new Map(withPodLevel(asked, spec.resources?.limits))
  for (const [name, amount] of amountsOf(spec.overhead)) {
    const limit = limits.get(name)
    if (limit !== undefined && !isZeroQuantity(limit)) limits.set(name, addQuantities(limit, amount))
  }
  return limits
}

const noSpec: PodSpec = { containers: [] }

/** Pod-level resources take precedence over those of the containers. */
function withPodLevel(amounts: Amounts, list: ResourceList | undefined): Amounts {
  return list === undefined
    ? amounts
    : new Map([...amounts, ...pick(amountsOf(list), isSupportedPodLevelResource)])
}

/** An infeasible resize is not charged. */
function isResizeInfeasible({ status }: Pod): boolean {
  const pending = conditionOf(status?.conditions, 'PodResizePending')
  return pending?.reason === 'Infeasible'
}

function wantedSpecs(pod: Pod): readonly PodSpec[] {
  return isResizeInfeasible(pod) ? [] : [pod.spec ?? noSpec]
}

/**
 * The spec with the resources reported in the container statuses: during a resize a pod is charged the
 * maximum of actual and desired resources. Empty if there are no container statuses yet.
 */
function statedSpecs(
  pod: Pod,
  kind: 'requests' | 'limits',
  stated: (status: ContainerStatus) => ResourceList | undefined,
): readonly PodSpec[] {
  const { spec = noSpec, status } = pod
  const statuses = new Map(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(each => [
      each.name,
      each,
    ]),
  )
  const isInfeasible = isResizeInfeasible(pod)
  if (statuses.size === 0 && !isInfeasible) return []
  const restate = (container: Container): Container => {
    const known = statuses.get(container.name)
    const wanted = isInfeasible ? {} : (container.resources?.[kind] ?? {})
    return { ...container, resources: { [kind]: (known && stated(known)) ?? wanted } }
  }
  return [
    {
      ...spec,
      containers: (spec.containers ?? []).map(restate),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(restate) }),
    },
  ]
}
