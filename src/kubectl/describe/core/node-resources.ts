import { aggregatePodResources, podRequests } from '#/api/core/pod-resources.ts'
import { amountsOf, type Amounts, type ResourceList } from '#/api/core/resource-amounts.ts'
import { isHugePageResourceName } from '#/api/core/resource-names.ts'
import { isSidecar } from '#/api/core/pod-containers.ts'
import type { Container, ContainerStatus, Node, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import type { DescribeContext } from '../describer.ts'
import { timeSince } from '../sections/times.ts'
import { emptyPodSpec } from '../sections/pod-template.ts'

/** The table of the pods of a node, and the sums of what they request. */
export function describeNodeResources(node: Node, pods: readonly Pod[], context: DescribeContext): void {
  const { writer } = context
  const allocatable = allocatableOf(node)
  writer.fields(0, [['Non-terminated Pods', `(${pods.length} in total)`]])
  writer.rows(1, [
    ['Namespace', 'Name', '', 'CPU Requests', 'CPU Limits', 'Memory Requests', 'Memory Limits', 'Age'],
    ['---------', '----', '', '------------', '----------', '---------------', '-------------', '---'],
    ...pods.map(pod => podRow(pod, allocatable, context)),
  ])
  const requests = sumOf(pods.map(({ spec = emptyPodSpec }) => podRequests(spec)))
  const limits = sumOf(pods.map(({ spec = emptyPodSpec }) => podLimits(spec)))
  writer.write(0, 'Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n')
  writer.rows(1, [
    ['Resource', 'Requests', 'Limits'],
    ['--------', '--------', '------'],
    ...resourceNames(allocatable).map(name => {
      return [
        name,
        ...[requests, limits].map(sum => shareText(amountIn(sum, name), amountIn(allocatable, name), name)),
      ]
    }),
  ])
}

function allocatableOf({ status = {} }: Node): Amounts {
  const allocatable = amountsOf(status.allocatable)
  return allocatable.size > 0 ? allocatable : amountsOf(status.capacity)
}

/** The compute resources, then huge pages, then extended resources. */
function resourceNames(allocatable: Amounts): string[] {
  const names = [...allocatable.keys()]
    .filter(name => !computeResources.includes(name) && name !== 'pods')
    .sort()
  const hugePages = names.filter(isHugePageResourceName)
  return [...computeResources, ...hugePages, ...names.filter(name => !isHugePageResourceName(name))]
}

const computeResources: readonly string[] = ['cpu', 'memory', 'ephemeral-storage']

/** `100m (5%)`; the share of extended resources is not shown, and nothing is a share of nothing. */
function shareText(amount: Quantity, allocatable: Quantity, name: string): string {
  if (!computeResources.includes(name) && !isHugePageResourceName(name)) return formatQuantity(amount)
  const isNothing = isZeroQuantity(allocatable)
  return `${formatQuantity(amount)} (${isNothing ? '0' : percentOf(amount, allocatable, name)}%)`
}

function podRow(pod: Pod, allocatable: Amounts, context: DescribeContext): string[] {
  const { metadata } = pod
  const requests = podRequests(effectiveSpec(pod, 'requests'))
  const limits = podLimits(effectiveSpec(pod, 'limits'))
  const share = (amounts: Amounts, name: string): string => {
    const amount = amountIn(amounts, name)
    return `${formatQuantity(amount)} (${percentOf(amount, amountIn(allocatable, name), name)}%)`
  }
  return [
    metadata.namespace ?? '',
    metadata.name ?? '',
    '',
    share(requests, 'cpu'),
    share(limits, 'cpu'),
    share(requests, 'memory'),
    share(limits, 'memory'),
    timeSince(metadata.creationTimestamp, context),
  ]
}

/** What kubectl prints for a share of nothing: infinity as an integer of 64 bits. */
const infinity = '-9223372036854775808'

function percentOf(amount: Quantity, allocatable: Quantity, name: string): string {
  const valueOf = name === 'cpu' ? quantityMilliValue : quantityValue
  const percent = (Number(valueOf(amount)) / Number(valueOf(allocatable))) * 100
  return Number.isFinite(percent) ? String(Math.trunc(percent)) : infinity
}

function amountIn(amounts: Amounts, name: string): Quantity {
  return amounts.get(name) ?? zeroQuantity
}

/** Unlike that of requests, the overhead counts only where there is a limit. */
function podLimits(spec: PodSpec): Amounts {
  const limits = new Map(aggregatePodResources(spec, 'limits'))
  for (const [name, overhead] of amountsOf(spec.overhead)) {
    const limit = limits.get(name)
    if (limit !== undefined && !isZeroQuantity(limit)) limits.set(name, addQuantities(limit, overhead))
  }
  return limits
}

function sumOf(all: readonly Amounts[]): Amounts {
  const sums = new Map<string, Quantity>()
  for (const amounts of all) {
    for (const [name, amount] of amounts)
      sums.set(name, addQuantities(sums.get(name) ?? zeroQuantity, amount))
  }
  return sums
}

/**
 * The spec with the resources that count while a resize is in progress: the largest of those that are wanted,
 * allocated and in effect.
 */
function effectiveSpec({ spec = emptyPodSpec, status = {} }: Pod, kind: 'requests' | 'limits'): PodSpec {
  const { containerStatuses, initContainerStatuses, conditions } = status
  const statuses = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])]
  const pending = (conditions ?? []).find(({ type }) => type === 'PodResizePending')
  const isInfeasible = pending?.reason === 'Infeasible'
  const effective = (container: Container): Container => {
    const found = statuses.find(({ name }) => name === container.name)
    if (!found?.resources) return container
    const lists = [...(isInfeasible ? [] : [container.resources?.[kind]]), ...listsInEffect(found, kind)]
    return { ...container, resources: { [kind]: largest(lists) } }
  }
  const initContainers = spec.initContainers?.map(container => {
    return isSidecar(container) ? effective(container) : container
  })
  return { ...spec, containers: spec.containers.map(effective), ...(initContainers && { initContainers }) }
}

function listsInEffect(
  { resources, allocatedResources }: ContainerStatus,
  kind: 'requests' | 'limits',
): (ResourceList | undefined)[] {
  return [resources?.[kind], ...(kind === 'requests' ? [allocatedResources] : [])]
}

function largest(lists: readonly (ResourceList | undefined)[]): ResourceList {
  const result = new Map<string, Quantity>()
  for (const list of lists) {
    for (const [name, amount] of amountsOf(list)) {
      const known = result.get(name)
      if (known === undefined || compareQuantities(amount, known) > 0) result.set(name, amount)
    }
  }
  return Object.fromEntries([...result].map(([name, amount]) => [name, formatQuantity(amount)]))
}
