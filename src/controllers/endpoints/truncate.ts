import type { EndpointAddress, EndpointSubset } from '#/api/generated/core/v1.ts'

/** Maximum number of addresses per Endpoints object; EndpointSlices have all of them. */
const addressesMax = 1_000

export interface Truncated {
  readonly subsets: readonly EndpointSubset[]
  readonly isTruncated: boolean
}

/** Drops addresses that are not ready first, in proportion from all subsets. */
export function truncateSubsets(subsets: readonly EndpointSubset[]): Truncated {
  const ready = count(subsets, 'addresses')
  const notReady = count(subsets, 'notReadyAddresses')
  if (ready + notReady <= addressesMax) return { subsets, isTruncated: false }
  const [field, total, max] =
    ready > addressesMax
      ? (['addresses', ready, addressesMax] as const)
      : (['notReadyAddresses', notReady, addressesMax - ready] as const)
  let left = max
  const cut = subsets.map(subset => {
    const { addresses = [], notReadyAddresses = [], ports } = subset
    const whole = subset[field] ?? []
    const kept = whole.slice(0, Math.min(left, Math.ceil((whole.length / total) * max)))
    left -= kept.length
    return field === 'addresses'
      ? subsetOf(kept, [], ports)
      : subsetOf(addresses, notReadyAddresses.slice(0, kept.length), ports)
  })
  const hasAny = ({ addresses, notReadyAddresses }: EndpointSubset): boolean => {
    return addresses !== undefined || notReadyAddresses !== undefined
  }
  return { subsets: cut.filter(hasAny), isTruncated: true }
}

function count(subsets: readonly EndpointSubset[], field: 'addresses' | 'notReadyAddresses'): number {
  return subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0)
}

function subsetOf(
  addresses: readonly EndpointAddress[],
  notReadyAddresses: readonly EndpointAddress[],
  ports: EndpointSubset['ports'],
): EndpointSubset {
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports && { ports }),
  }
}
