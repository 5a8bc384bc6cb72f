import type { EndpointAddress, EndpointPort, EndpointSubset } from '#/api/generated/core/v1.ts'

/**
 * Canonical form of endpoint subsets: ports offered by the same addresses are grouped, and everything is
 * sorted. An address that is ready in one subset and not ready in another counts as not ready.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const byPort = new Map<string, { readonly port: EndpointPort | undefined; readonly offers: Offers }>()
  for (const subset of subsets) {
    for (const port of subset.ports?.length ? subset.ports : [undefined]) {
      const key = portKey(port)
      const { offers } = byPort.getOrInsertComputed(key, () => ({ port, offers: new Map() }))
      for (const address of subset.addresses ?? []) offer(offers, address, true)
      for (const address of subset.notReadyAddresses ?? []) offer(offers, address, false)
    }
  }
  const byAddresses = Map.groupBy(byPort.values(), ({ offers }) => offersKey(offers))
  return [...byAddresses.values()]
    .map(group =>
      subsetOf(
        group[0]!.offers,
        group.flatMap(({ port }) => port ?? []),
      ),
    )
    .filter(({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0)
    .toSorted((left, right) => compare(subsetKey(left), subsetKey(right)))
}

interface Offer {
  readonly address: EndpointAddress
  readonly isReady: boolean
}

/** By address and target uid. */
type Offers = Map<string, Offer>

function offer(offers: Offers, address: EndpointAddress, isReady: boolean): void {
  const key = addressKey(address)
  const known = offers.get(key)
  offers.set(key, { address: known?.address ?? address, isReady: isReady && (known?.isReady ?? true) })
}

function subsetOf(offers: Offers, ports: readonly EndpointPort[]): EndpointSubset {
  const sorted = [...offers.entries()].toSorted(([left], [right]) => compare(left, right))
  const addresses = sorted.filter(([, { isReady }]) => isReady).map(([, { address }]) => address)
  const notReadyAddresses = sorted.filter(([, { isReady }]) => !isReady).map(([, { address }]) => address)
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports.length > 0 && {
      ports: ports.toSorted((left, right) => compare(portKey(left), portKey(right))),
    }),
  }
}

function addressKey({ ip, targetRef }: EndpointAddress): string {
  return `${ip} ${targetRef?.uid ?? ''}`
}

function portKey(port: EndpointPort | undefined): string {
  if (port === undefined) return ''
  const { name = '', port: number, protocol = 'TCP', appProtocol = '' } = port
  return JSON.stringify([name, number, protocol, appProtocol])
}

function offersKey(offers: Offers): string {
  return [...offers.entries()]
    .map(([key, { isReady }]) => `${key} ${isReady}`)
    .sort()
    .join()
}

function subsetKey({ ports = [] }: EndpointSubset): string {
  return ports.map(portKey).join()
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
