/** Size of memory-backed volumes and page size of huge page volumes. Pure. */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { aggregatePodResources } from '#/api/core/pod-resources.ts'
import { quantityValue, tryParseQuantity } from '#/api/text/quantity.ts'
import { hugePageResource } from '../huge-pages.ts'
import { wholeAmount, type ResourceList } from '../resource-amount.ts'

/**
 * Minimum of the volume's size limit, the pod's memory limit and node allocatable. Undefined if none is set.
 */
export function memorySizeOf(
  pod: Pod,
  sizeLimit: string | undefined,
  allocatable: ResourceList,
): number | undefined {
  const limits = [
    wholeAmount(allocatable, 'memory'),
    podMemoryLimit(pod),
    wholeAmount({ size: sizeLimit ?? '0' }, 'size'),
  ]
  const least = Math.min(...limits.filter(limit => limit > 0))
  return Number.isFinite(least) ? least : undefined
}

/** 0 if a container has no limit. */
function podMemoryLimit({ spec }: Pod): number {
  if (spec === undefined) return 0
  const isLimited = ({ resources }: Container): boolean => wholeAmount(resources?.limits, 'memory') > 0
  const containers = [...spec.containers, ...(spec.initContainers ?? [])]
  if (wholeAmount(spec.resources?.limits, 'memory') === 0 && !containers.every(isLimited)) return 0
  const amount = aggregatePodResources(spec, 'limits').get('memory')
  return amount === undefined ? 0 : Number(quantityValue(amount)) + wholeAmount(spec.overhead, 'memory')
}

const hugePages = 'HugePages'
const resourcePrefix = 'hugepages-'

export function isHugePageMedium(medium: string): boolean {
  return medium === hugePages || medium.startsWith(`${hugePages}-`)
}

/** Page size such as `2Mi`, which a container of the pod must have requested. */
export function pageSizeOf(pod: Pod, medium: string): string {
  const wanted = medium === hugePages ? undefined : sizeBytesOf(medium.slice(hugePages.length + 1))
  const asked = new Set(requestedPageSizes(pod))
  if (wanted === undefined && asked.size > 1) {
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`)
  }
  const size = wanted ?? [...asked][0]
  if (size === undefined || !asked.has(size)) {
    throw new Error(
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    )
  }
  return hugePageResource(size).slice(resourcePrefix.length)
}

function requestedPageSizes({ spec }: Pod): readonly number[] {
  const { containers = [], initContainers = [], resources } = spec ?? {}
  const lists = [resources, ...[...containers, ...initContainers].map(container => container.resources)]
  return lists.flatMap(list =>
    Object.keys(list?.requests ?? {})
      .filter(name => name.startsWith(resourcePrefix))
      .map(name => sizeBytesOf(name.slice(resourcePrefix.length))),
  )
}

function sizeBytesOf(text: string): number {
  const quantity = tryParseQuantity(text)
  if (quantity === undefined) throw new Error(`invalid huge page size: ${text}`)
  return Number(quantityValue(quantity))
}
