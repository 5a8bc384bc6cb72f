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
import type { CidrUse } from '../metrics/server.ts'
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

/** Addresses in use and free, by CIDR. */
export function clusterIpUse(registry: Registry): readonly CidrUse[] {
  const used = Array.from(registry.cache.list(prefixOf(ipAddresses as Resource, '')), stored =>
    parseIp(stored.key.slice(stored.key.lastIndexOf('/') + 1)),
  )
  return ranges(registry).map(range => {
    const allocated = used.filter(ip => ip !== undefined && cidrContains(range, ip)).length
    return { cidr: formatCidr(range), allocated, available: Number(usableSize(range)) - allocated }
  })
}

/** Without the network address and, in IPv4, the broadcast address. */
function usableSize(range: Cidr): bigint {
  return cidrSize(range) - (range.family === 4 ? 2n : 1n)
}

function formatCidr(range: Cidr): string {
  return `${formatIp(nthAddress(range, 0)!)}/${range.prefixLength}`
}

interface ClusterIpRequest {
  readonly family: IpFamily
  /** Undefined for any free address. */
  readonly requested: string | undefined
}

/** Allocates the requested address, or any free one of the family. Throws ClusterIpError. */
export async function allocateClusterIp(
  registry: Registry,
  service: ServiceName,
  request: ClusterIpRequest,
): Promise<string> {
  const { clock } = registry.platform
  const startedMs = clock.monotonicMs()
  const record = (address: string | undefined): void => {
    const ip = parseIp(address ?? request.requested ?? '')
    const range = ranges(registry).find(each =>
      ip ? cidrContains(each, ip) : each.family === request.family,
    )
    const scope = request.requested === undefined ? 'dynamic' : 'static'
    const allocation = { scope, isAllocated: address !== undefined } as const
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    if (range) registry.metrics?.server.recordClusterIp(formatCidr(range), allocation, seconds)
  }
  try {
    const address = await tryAllocateClusterIp(registry, service, request)
    record(address)
    return address
  } catch (error) {
    record(undefined)
    throw error
  }
}

async function tryAllocateClusterIp(
  registry: Registry,
  service: ServiceName,
  { family, requested }: ClusterIpRequest,
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

/**
 * The address that a dry run shows: the requested one if a range contains it, or the first address of a range, which is
 * never allocated. Throws ClusterIpError.
 */
export async function previewClusterIp(
  registry: Registry,
  { family, requested }: { readonly family: IpFamily; readonly requested: string | undefined },
): Promise<string> {
  if (requested !== undefined) return addressInRange(registry, requested)
  const [range] = await rangesThat(registry, each => each.family === family)
  if (range === undefined) throw new ClusterIpError('failed to allocate a serviceIP: range is full')
  return formatIp(nthAddress(range, 0)!)
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
  const address = await addressInRange(registry, requested)
  if (await tryTake(registry, service, address)) return address
  throw new ClusterIpError(`failed to allocate IP ${requested}: provided IP is already allocated`)
}

/** The address in canonical form. Throws ClusterIpError. */
async function addressInRange(registry: Registry, requested: string): Promise<string> {
  const ip = parseIp(requested)
  const around = ip === undefined ? [] : await rangesThat(registry, range => cidrContains(range, ip))
  const address = ip && formatIp(ip)
  if (address !== undefined && around.length > 0) return address
  const valid = ranges(registry).map(formatCidr).join(', ')
  throw new ClusterIpError(
    `failed to allocate IP ${requested}: the provided IP (${requested}) is not in the valid range.` +
      ` The range of valid IPs is ${valid}`,
  )
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
    spec: { parentRef: { resource: 'services', ...service } },
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
