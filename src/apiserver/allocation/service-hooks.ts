/** Allocates the cluster IPs and node ports of Services. */
import { invalid, invalidObject, type FieldError } from '#/api/field-error.ts'
import type { Service, ServicePort, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import type { Reservation, ResourceHooks } from '../registry/hooks.ts'
import type { Registry } from '../registry/registry.ts'
import { NodePortError, portsOf, previewNodePort, releaseNodePorts, allocateNodePorts } from './node-ports.ts'
import {
  ClusterIpError,
  previewClusterIp,
  releaseClusterIp,
  serviceFamilies,
  allocateClusterIp,
  type ServiceName,
} from './cluster-ips.ts'

export const serviceHooks: ResourceHooks = {
  reserve: (registry, { object, oldObject, dryRun }) =>
    reserve(registry, object as Service, { oldObject: oldObject as Service | undefined, dryRun }),
  afterDelete: async (registry, object) => {
    const service = object as Service
    await giveBack(registry, nameOf(service), { addresses: clusterIpsOf(service), ports: portsOf(service) })
  },
}

interface Held {
  readonly addresses: readonly string[]
  readonly ports: readonly number[]
}

interface ServiceWrite {
  readonly oldObject: Service | undefined
  readonly dryRun: boolean
}

async function reserve(registry: Registry, service: Service, write: ServiceWrite): Promise<Reservation> {
  const { oldObject, dryRun } = write
  const addressed = await withAddresses(registry, service, write)
  const name = nameOf(service)
  const newAddresses = without(clusterIpsOf(addressed), oldObject ? clusterIpsOf(oldObject) : [])
  let ported: Service
  try {
    ported = await withPorts(registry, addressed, write)
  } catch (error) {
    if (!dryRun) await giveBack(registry, name, { addresses: newAddresses, ports: [] })
    throw error
  }
  const newPorts = without(portsOf(ported), oldObject ? portsOf(oldObject) : [])
  const oldAddresses = without(oldObject ? clusterIpsOf(oldObject) : [], clusterIpsOf(ported))
  const oldPorts = without(oldObject ? portsOf(oldObject) : [], portsOf(ported))
  return {
    object: ported,
    commit: () => giveBack(registry, name, { addresses: oldAddresses, ports: oldPorts }),
    rollback: async () => {
      if (!dryRun) await giveBack(registry, name, { addresses: newAddresses, ports: newPorts })
    },
  }
}

async function giveBack(registry: Registry, name: ServiceName, { addresses, ports }: Held): Promise<void> {
  for (const address of addresses) await releaseClusterIp(registry, name, address)
  await releaseNodePorts(registry, ports)
}

async function withAddresses(
  registry: Registry,
  service: Service,
  { oldObject, dryRun }: ServiceWrite,
): Promise<Service> {
  const { spec = {} } = service
  if (spec.type === 'ExternalName') return service
  const policy = spec.ipFamilyPolicy ?? oldObject?.spec?.ipFamilyPolicy
  const ipFamilyPolicy = policy ?? (isSelectorless(spec) ? 'RequireDualStack' : 'SingleStack')
  const families = familiesOf(registry, { ...spec, ipFamilyPolicy })
  const shown = { ipFamilies: families.map(familyName), ipFamilyPolicy }
  if (spec.clusterIP === 'None') {
    return { ...service, spec: { ...spec, clusterIP: 'None', clusterIPs: ['None'], ...shown } }
  }
  const requested = spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : [])
  const held = oldObject ? clusterIpsOf(oldObject) : []
  const clusterIPs: string[] = []
  for (const [index, family] of families.entries()) {
    const address = requested[index] || undefined
    if (address !== undefined && held.includes(address)) clusterIPs.push(address)
    else
      clusterIPs.push(
        await take(registry, service, { family, requested: address, taken: clusterIPs, dryRun }),
      )
  }
  const [clusterIP] = clusterIPs
  return { ...service, spec: { ...spec, ...(clusterIP && { clusterIP, clusterIPs }), ...shown } }
}

interface Wanted {
  readonly family: IpFamily
  readonly requested: string | undefined
  /** Addresses already allocated by this request; released if it fails. */
  readonly taken: readonly string[]
  readonly dryRun: boolean
}

async function take(
  registry: Registry,
  service: Service,
  { family, requested, taken, dryRun }: Wanted,
): Promise<string> {
  try {
    if (dryRun) return await previewClusterIp(registry, { family, requested })
    return await allocateClusterIp(registry, nameOf(service), { family, requested })
  } catch (error) {
    if (!dryRun) await giveBack(registry, nameOf(service), { addresses: taken, ports: [] })
    if (!(error instanceof ClusterIpError)) throw error
    throw refuse(
      service,
      invalid('spec.clusterIPs', requested === undefined ? [] : [requested], error.message),
    )
  }
}

async function withPorts(
  registry: Registry,
  service: Service,
  { oldObject, dryRun }: ServiceWrite,
): Promise<Service> {
  const { spec = {} } = service
  const needed = neededPorts(service, oldObject)
  const held = new Set(oldObject ? portsOf(oldObject) : [])
  const ports: ServicePort[] = []
  const taken: number[] = []
  for (const [index, port] of (spec.ports ?? []).entries()) {
    const requested = port.nodePort ?? 0
    const shared = ports.find(each => each.nodePort && each.nodePort === requested)
    if (!needed || shared || held.has(requested)) {
      ports.push(port)
      continue
    }
    const field = `spec.ports[${index}].nodePort`
    const nodePort = await takePort(registry, service, { field, requested, taken, dryRun })
    taken.push(nodePort)
    ports.push({ ...port, nodePort })
  }
  const healthCheck = spec.healthCheckNodePort ?? 0
  if (!needsHealthCheck(spec) || held.has(healthCheck)) {
    return { ...service, spec: { ...spec, ...(spec.ports && { ports }) } }
  }
  const healthCheckNodePort = await takePort(registry, service, {
    field: 'spec.healthCheckNodePort',
    requested: healthCheck,
    taken,
    dryRun,
  })
  return { ...service, spec: { ...spec, ...(spec.ports && { ports }), healthCheckNodePort } }
}

interface WantedPort {
  readonly field: string
  readonly requested: number
  readonly taken: readonly number[]
  readonly dryRun: boolean
}

async function takePort(
  registry: Registry,
  service: Service,
  { field, requested, taken, dryRun }: WantedPort,
): Promise<number> {
  try {
    if (dryRun) return await previewNodePort(registry, requested, taken)
    const [port = 0] = await allocateNodePorts(registry, [requested])
    return port
  } catch (error) {
    if (!dryRun) await releaseNodePorts(registry, taken)
    if (!(error instanceof NodePortError)) throw error
    throw refuse(service, invalid(field, requested, error.message))
  }
}

function neededPorts({ spec = {} }: Service, oldObject: Service | undefined): boolean {
  if (spec.type === 'NodePort') return true
  if (spec.type !== 'LoadBalancer') return false
  return (
    spec.allocateLoadBalancerNodePorts !== false ||
    // Not the health check node port, which every service with the policy Local has.
    (oldObject?.spec?.ports ?? []).some(({ nodePort }) => nodePort !== undefined)
  )
}

function needsHealthCheck({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

/** A headless service whose endpoints are managed by other programs, which may have addresses of both families. */
function isSelectorless({ clusterIP, selector = {} }: ServiceSpec): boolean {
  return clusterIP === 'None' && Object.keys(selector).length === 0
}

function familiesOf(registry: Registry, spec: ServiceSpec): readonly IpFamily[] {
  const { ipFamilies, ipFamilyPolicy, clusterIPs } = spec
  const served = serviceFamilies(registry)
  const available: readonly IpFamily[] = isSelectorless(spec)
    ? [...new Set([...served, 4, 6] as const)]
    : served
  const requested = (ipFamilies ?? []).map(family => (family === 'IPv6' ? 6 : 4))
  const fromAddresses = (clusterIPs ?? [])
    .filter(address => address !== 'None')
    .map(address => (address.includes(':') ? 6 : 4))
  const wanted: readonly IpFamily[] =
    requested.length > 0 ? requested : fromAddresses.length > 0 ? fromAddresses : available.slice(0, 1)
  if (ipFamilyPolicy === 'SingleStack') return wanted.slice(0, Math.max(1, requested.length))
  return [...new Set([...wanted, ...available])]
}

function familyName(family: IpFamily): string {
  return family === 6 ? 'IPv6' : 'IPv4'
}

export function clusterIpsOf({ spec = {} }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return []
  return (spec.clusterIPs ?? []).filter(address => address !== 'None' && address !== '')
}

function without<T>(all: readonly T[], some: readonly T[]): readonly T[] {
  return all.filter(each => !some.includes(each))
}

function nameOf({ metadata }: Service): ServiceName {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
}

function refuse(service: Service, error: FieldError) {
  return invalidObject({ group: '', kind: 'Service', name: service.metadata.name ?? '' }, [error])
}
