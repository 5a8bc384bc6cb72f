/** Allocates the cluster IPs and node ports of Services. */
import { invalid, invalidObject, type FieldError } from '#/api/field-error.ts'
import type { Service, ServicePort, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { IpFamily } from '#/api/ip.ts'
import type { Reservation, ResourceHooks } from '../registry/hooks.ts'
import type { Registry } from '../registry/registry.ts'
import { NodePortError, portsOf, returnPorts, takePorts } from './node-ports.ts'
import {
  AddressError,
  returnAddress,
  serviceFamilies,
  takeAddress,
  type ServiceName,
} from './service-addresses.ts'

export const serviceHooks: ResourceHooks = {
  reserve: (registry, object, before, dryRun) =>
    reserve(registry, object as Service, before as Service | undefined, dryRun),
  afterDelete: async (registry, object) => {
    const service = object as Service
    await giveBack(registry, nameOf(service), { addresses: addressesOf(service), ports: portsOf(service) })
  },
}

interface Held {
  readonly addresses: readonly string[]
  readonly ports: readonly number[]
}

async function reserve(
  registry: Registry,
  service: Service,
  before: Service | undefined,
  dryRun: boolean,
): Promise<Reservation> {
  const addressed = await withAddresses(registry, service, before, dryRun)
  const name = nameOf(service)
  const newAddresses = without(addressesOf(addressed), before ? addressesOf(before) : [])
  let ported: Service
  try {
    ported = await withPorts(registry, addressed, before, dryRun)
  } catch (error) {
    if (!dryRun) await giveBack(registry, name, { addresses: newAddresses, ports: [] })
    throw error
  }
  const newPorts = without(portsOf(ported), before ? portsOf(before) : [])
  const oldAddresses = without(before ? addressesOf(before) : [], addressesOf(ported))
  const oldPorts = without(before ? portsOf(before) : [], portsOf(ported))
  return {
    object: ported,
    commit: () => giveBack(registry, name, { addresses: oldAddresses, ports: oldPorts }),
    rollback: async () => {
      if (!dryRun) await giveBack(registry, name, { addresses: newAddresses, ports: newPorts })
    },
  }
}

async function giveBack(registry: Registry, name: ServiceName, { addresses, ports }: Held): Promise<void> {
  for (const address of addresses) await returnAddress(registry, name, address)
  await returnPorts(registry, ports)
}

async function withAddresses(
  registry: Registry,
  service: Service,
  before: Service | undefined,
  dryRun: boolean,
): Promise<Service> {
  const { spec = {} } = service
  if (spec.type === 'ExternalName') return service
  const families = familiesOf(registry, spec)
  const shown = { ipFamilies: families.map(familyName), ipFamilyPolicy: spec.ipFamilyPolicy ?? 'SingleStack' }
  if (spec.clusterIP === 'None') {
    return { ...service, spec: { ...spec, clusterIP: 'None', clusterIPs: ['None'], ...shown } }
  }
  const asked = spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : [])
  const held = before ? addressesOf(before) : []
  const clusterIPs: string[] = []
  for (const [index, family] of families.entries()) {
    const address = asked[index] || undefined
    if (address !== undefined && held.includes(address)) clusterIPs.push(address)
    else if (dryRun && address === undefined) continue
    else clusterIPs.push(await take(registry, service, { family, asked: address, taken: clusterIPs }))
  }
  const [clusterIP] = clusterIPs
  return { ...service, spec: { ...spec, ...(clusterIP && { clusterIP, clusterIPs }), ...shown } }
}

interface Wanted {
  readonly family: IpFamily
  readonly asked: string | undefined
  /** Addresses already allocated by this request; released if it fails. */
  readonly taken: readonly string[]
}

async function take(registry: Registry, service: Service, { family, asked, taken }: Wanted): Promise<string> {
  try {
    return await takeAddress(registry, nameOf(service), { family, asked })
  } catch (error) {
    await giveBack(registry, nameOf(service), { addresses: taken, ports: [] })
    if (!(error instanceof AddressError)) throw error
    throw refuse(service, invalid('spec.clusterIPs', asked === undefined ? [] : [asked], error.message))
  }
}

async function withPorts(
  registry: Registry,
  service: Service,
  before: Service | undefined,
  dryRun: boolean,
): Promise<Service> {
  const { spec = {} } = service
  const needed = neededPorts(service, before)
  const held = new Set(before ? portsOf(before) : [])
  const ports: ServicePort[] = []
  const taken: number[] = []
  for (const [index, port] of (spec.ports ?? []).entries()) {
    const asked = port.nodePort ?? 0
    const shared = ports.find(each => each.nodePort && each.nodePort === asked)
    if (!needed || shared || held.has(asked) || (dryRun && asked === 0)) {
      ports.push(port)
      continue
    }
    const field = `spec.ports[${index}].nodePort`
    const nodePort = await takePort(registry, service, { field, asked, taken, dryRun })
    taken.push(nodePort)
    ports.push({ ...port, nodePort })
  }
  const healthCheck = spec.healthCheckNodePort ?? 0
  if (!needsHealthCheck(spec) || held.has(healthCheck) || (dryRun && healthCheck === 0)) {
    return { ...service, spec: { ...spec, ...(spec.ports && { ports }) } }
  }
  const healthCheckNodePort = await takePort(registry, service, {
    field: 'spec.healthCheckNodePort',
    asked: healthCheck,
    taken,
    dryRun,
  })
  return { ...service, spec: { ...spec, ...(spec.ports && { ports }), healthCheckNodePort } }
}

interface WantedPort {
  readonly field: string
  readonly asked: number
  readonly taken: readonly number[]
  readonly dryRun: boolean
}

async function takePort(
  registry: Registry,
  service: Service,
  { field, asked, taken, dryRun }: WantedPort,
): Promise<number> {
  try {
    const [port = 0] = await takePorts(registry, [asked])
    if (dryRun) await returnPorts(registry, [port])
    return port
  } catch (error) {
    await returnPorts(registry, dryRun ? [] : taken)
    if (!(error instanceof NodePortError)) throw error
    throw refuse(service, invalid(field, asked, error.message))
  }
}

function neededPorts({ spec = {} }: Service, before: Service | undefined): boolean {
  if (spec.type === 'NodePort') return true
  if (spec.type !== 'LoadBalancer') return false
  return spec.allocateLoadBalancerNodePorts !== false || (before !== undefined && portsOf(before).length > 0)
}

function needsHealthCheck({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

function familiesOf(
  registry: Registry,
  { ipFamilies, ipFamilyPolicy, clusterIPs }: ServiceSpec,
): readonly IpFamily[] {
  const available = serviceFamilies(registry)
  const asked = (ipFamilies ?? []).map(family => (family === 'IPv6' ? 6 : 4))
  const fromAddresses = (clusterIPs ?? [])
    .filter(address => address !== 'None')
    .map(address => (address.includes(':') ? 6 : 4))
  const wanted: readonly IpFamily[] =
    asked.length > 0 ? asked : fromAddresses.length > 0 ? fromAddresses : available.slice(0, 1)
  if (ipFamilyPolicy === undefined || ipFamilyPolicy === 'SingleStack')
    return wanted.slice(0, Math.max(1, asked.length))
  return [...new Set([...wanted, ...available])]
}

function familyName(family: IpFamily): string {
  return family === 6 ? 'IPv6' : 'IPv4'
}

export function addressesOf({ spec = {} }: Service): readonly string[] {
  if (spec.type === 'ExternalName') return []
  return (spec.clusterIPs ?? []).filter(address => address !== 'None' && address !== '')
}

function without<T>(all: readonly T[], some: readonly T[]): readonly T[] {
  return all.filter(each => !some.includes(each))
}

function nameOf({ metadata = {} }: Service): ServiceName {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
}

function refuse(service: Service, error: FieldError) {
  return invalidObject({ group: '', kind: 'Service', name: service.metadata?.name ?? '' }, [error])
}
