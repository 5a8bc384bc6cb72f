/**
 * Cluster IPs of Services. An address is allocated by creating an `IPAddress` object, which is exclusive
 * across several API servers. Addresses come from the CIDRs of the `ServiceCIDR` objects.
 */
import { cidrContains, cidrSize, nthAddress, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import { isApiError } from '#/api/errors.ts'
import type { IPAddress, ServiceCIDR } from '#/api/generated/networking/v1.ts'
import { ipAddresses, serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import { formatIp, parseIp, type IpFamily } from '#/api/net/ip.ts'
import type { Resource } from '#/api/resource.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { createObject } from '../registry/create-object.ts'
import { removeObject } from '../registry/update-object.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'

export interface ServiceName {
  readonly namespace: string
  readonly name: string
}

/** Allocation failed; the message is the one that the API reports. */
export class ClusterIpError extends Error {}

const managedByLabel = 'ipaddress.kubernetes.io/managed-by'
const allocatorName = 'ipallocator.k8s.io'

/** IP families available to services, the default first. */
export function serviceFamilies(registry: Registry): readonly IpFamily[] {
  const families = ranges(registry).map(range => range.family)
  return families.length === 0 ? [4] : [...new Set(families)]
}

/** Allocates the requested address, or any free one of the family. Throws AddressError. */
export async function allocateClusterIp(
  registry: Registry,
  service: ServiceName,
  { family, requested }: { readonly family: IpFamily; readonly requested: string | undefined },
): Promise<string> {
  if (requested !== undefined) return takeAsked(registry, service, requested)
  for (const range of await rangesThat(registry, range => range.family === family)) {
    for (const address of randomAddresses(registry, range)) {
      if (
        registry.cache.get(addressKey(address)) === undefined &&
        (await tryTake(registry, service, address))
      )
        return address
    }
  }
  throw new ClusterIpError('failed to allocate a serviceIP: range is full')
}

export async function releaseClusterIp(
  registry: Registry,
  service: ServiceName,
  address: string,
): Promise<void> {
  const stored = await getStoredObject(registry, addressKey(address))
  const parent = parentOf(stored)
  // The address may have been reallocated to another service in the meantime.
  if (stored && parent?.name === service.name && parent.namespace === service.namespace) {
    await removeObject(registry, { resource: ipAddresses }, stored)
  }
}

/** Allocates an address the service already uses. Returns false if another service holds it. */
export async function reserveClusterIp(
  registry: Registry,
  service: ServiceName,
  address: string,
): Promise<boolean> {
  return tryTake(registry, service, address)
}

/** True if the allocator created the IPAddress; false for ones created manually. */
export function isManagedByAllocator({ metadata }: IPAddress): boolean {
  return metadata.labels?.[managedByLabel] === allocatorName
}

async function takeAsked(registry: Registry, service: ServiceName, requested: string): Promise<string> {
  const ip = parseIp(requested)
  const around = ip === undefined ? [] : await rangesThat(registry, range => cidrContains(range, ip))
  const address = ip && formatIp(ip)
  if (address === undefined || around.length === 0) {
    const valid = ranges(registry)
      .map(range => `${formatIp(nthAddress(range, 0)!)}/${range.prefixLength}`)
      .join(', ')
    throw new ClusterIpError(
      `failed to allocate IP ${requested}: the provided IP (${requested}) is not in the valid range.` +
        ` The range of valid IPs is ${valid}`,
    )
  }
  if (await tryTake(registry, service, address)) return address
  throw new ClusterIpError(`failed to allocate IP ${requested}: provided IP is already allocated`)
}

async function tryTake(registry: Registry, service: ServiceName, address: string): Promise<boolean> {
  const object: IPAddress = {
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: {
      name: address,
      labels: {
        'ipaddress.kubernetes.io/ip-family': address.includes(':') ? 'IPv6' : 'IPv4',
        [managedByLabel]: allocatorName,
      },
    },
    spec: { parentRef: { group: '', resource: 'services', ...service } },
  }
  try {
    await createObject(registry, systemWriteRequest(ipAddresses, address), object)
    return true
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    // Already held by the same service: left over from an incomplete creation.
    const parent = parentOf(await getStoredObject(registry, addressKey(address)))
    return parent?.name === service.name && parent.namespace === service.namespace
  }
}

function parentOf(stored: StoredObject | undefined) {
  return (stored?.object as Stored<IPAddress> | undefined)?.spec?.parentRef
}

function addressKey(address: string): string {
  return keyOf(ipAddresses, '', address)
}

/** Waits for the cache to catch up if no range matches, because a ServiceCIDR may have just been created. */
async function rangesThat(registry: Registry, suits: (range: Cidr) => boolean): Promise<readonly Cidr[]> {
  const known = ranges(registry).filter(suits)
  if (known.length > 0) return known
  await registry.cache.waitForLatest()
  return ranges(registry).filter(suits)
}

function ranges(registry: Registry): readonly Cidr[] {
  return [...registry.cache.list(prefixOf(serviceCIDRs as Resource, ''))]
    .map(stored => stored.object as Stored<ServiceCIDR>)
    .filter(object => object.metadata.deletionTimestamp === undefined)
    .flatMap(object => object.spec?.cidrs ?? [])
    .map(parseCidr)
    .filter(range => range !== undefined)
}

/**
 * Draws random addresses from the upper part of the range, because manually chosen addresses are usually low.
 * After a few draws it falls back to a linear scan.
 */
function* randomAddresses(
  { platform: { random } }: Registry,
  range: Cidr,
): Generator<string, void, undefined> {
  const size = Number(
    cidrSize(range) > BigInt(rangeAddressesMax) ? BigInt(rangeAddressesMax) : cidrSize(range),
  )
  // Excludes the network address and, in IPv4, the broadcast address.
  const last = range.family === 4 ? size - 2 : size - 1
  const low = Math.min(Math.max(16, Math.floor(size / 16)), 256, Math.floor(last / 2))
  for (let draw = 0; draw < drawsMax && last > low; draw++) {
    yield formatIp(nthAddress(range, low + random.integer('service address', last - low) + 1)!)
  }
  for (let index = last; index >= 1; index--) yield formatIp(nthAddress(range, index)!)
}

const drawsMax = 16

/** Maximum number of addresses considered per range. */
const rangeAddressesMax = 2 ** 20
