/** Resolves the target of pod, service and node proxy requests. */
import { badRequest, serviceUnavailable } from '#/api/errors.ts'
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import type { Stored } from '#/api/metadata.ts'
import type { HttpClient } from '#/platform/http-client.ts'
import { parseIp, unmapIp } from '#/api/net/ip.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import type { Kubelets } from '../kubelets.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { findObject } from './find-object.ts'
import { originOf } from './locate-kubelet.ts'
import type { RemoteClients } from './remote-clients.ts'

export interface ProxyLocation {
  /** `address:port`, e.g. `10.244.0.7:80`. */
  readonly host: string
  readonly client: HttpClient
}

export interface ProxyClients {
  readonly kubelets: Kubelets
  /** Clients for pods, services and other ports of nodes. */
  readonly others: RemoteClients
}

/** Throws ApiError. */
export type Locate = (scope: RequestScope, clients: ProxyClients) => Promise<ProxyLocation>

export const locatePod: Locate = async (scope, clients) => {
  const target = targetOf(scope, 'pod')
  const { namespace } = scope.info
  const pod = await findObject(scope, pods, { namespace, name: target.name })
  const address = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? ''
  if (!isProxyableAddress(address)) throw badRequest('address not allowed')
  return locationAt(clients, { ...target, port: podPort(pod, target) }, address)
}

/** The port by number or name; by default the first container port. */
function podPort({ spec }: Pod, { port, scheme }: TargetName): string {
  const ports = (spec?.containers ?? []).flatMap(each => each.ports ?? [])
  if (port === '') return String(ports[0]?.containerPort ?? (scheme === 'https' ? 443 : 80))
  return String(ports.find(({ name }) => name === port)?.containerPort ?? port)
}

export const locateService: Locate = async (scope, clients) => {
  const target = targetOf(scope, 'service')
  const { namespace, name: id } = scope.info
  const service = await findObject(scope, services, { namespace, name: target.name })
  const portName = servicePortName(service, target.port)
  if (portName === undefined) {
    throw serviceUnavailable(`no service port ${Number(target.port)} found for service ${quote(target.name)}`)
  }
  const slices = slicesOf(scope, target.name)
  const all = endpointsOf(slices, portName, service.spec?.ipFamilies)
  const { random } = scope.registry.platform
  const start = all.length === 0 ? 0 : random.integer('endpoint of a service', all.length)
  // Only addresses of existing pods are allowed: otherwise write access to EndpointSlices would make this
  // server connect to arbitrary addresses.
  const chosen = [...all.slice(start), ...all.slice(0, start)].find(each => isOfPod(scope, each))
  if (chosen === undefined) throw serviceUnavailable(`no endpoints available for service ${quote(id)}`)
  return locationAt(clients, { ...target, port: String(chosen.port) }, chosen.address)
}

function slicesOf({ registry, info }: RequestScope, service: string): readonly EndpointSlice[] {
  const found: EndpointSlice[] = []
  for (const { object } of registry.cache.list(prefixOf(endpointSlices, info.namespace))) {
    if (object.metadata.labels?.['kubernetes.io/service-name'] === service) {
      found.push(object as EndpointSlice)
    }
  }
  return found
}

function isOfPod({ registry, info }: RequestScope, { address, pod }: ServiceEndpoint): boolean {
  if (pod.namespace !== info.namespace) return false
  const stored = registry.cache.get(keyOf(pods, pod.namespace, pod.name))?.object as Stored<Pod> | undefined
  return stored?.status?.podIPs?.some(({ ip }) => ip === address) ?? false
}

export const locateNode: Locate = async (scope, clients) => {
  const target = targetOf(scope, 'node')
  const kubelet = await clients.kubelets.of(target.name)
  if (!isProxyableAddress(kubelet.host)) throw badRequest('address not allowed')
  if (target.port === '' || target.port === String(kubelet.port)) {
    return { host: hostOf(originOf('https', kubelet.host, kubelet.port)), client: kubelet.client }
  }
  return locationAt(clients, target, kubelet.host)
}

function targetOf({ info }: RequestScope, what: string): TargetName {
  const target = parseTargetName(info.name)
  if (target === undefined) throw badRequest(`invalid ${what} request ${quote(info.name)}`)
  return target
}

/** Pods have no certificate that could be verified. */
const unverified = { insecureSkipVerify: true }

function locationAt({ others }: ProxyClients, { scheme, port }: TargetName, address: string): ProxyLocation {
  const isPort = /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536
  if (!isPort) throw serviceUnavailable(`error trying to reach service: unknown port ${quote(port)}`)
  const origin = originOf(scheme || 'http', address, Number(port))
  return { host: hostOf(origin), client: others.of(origin, scheme === 'https' ? unverified : undefined) }
}

function hostOf(origin: string): string {
  return origin.slice(origin.indexOf('//') + 2)
}

interface ServiceEndpoint {
  readonly address: string
  readonly port: number
  readonly pod: { readonly namespace: string; readonly name: string }
}

/** Resolves a service port given by number or name to its name. Undefined if no port has that number. */
export function servicePortName({ spec }: Service, port: string): string | undefined {
  if (!/^\d+$/.test(port)) return port
  const found = spec?.ports?.find(each => String(each.port) === String(Number(port)))
  return found && (found.name ?? '')
}

/** Ready pod endpoints with a port of that name; those of the service's first IP family come first. */
export function endpointsOf(
  slices: readonly EndpointSlice[],
  portName: string,
  families: readonly string[] = [],
): readonly ServiceEndpoint[] {
  const [first] = families
  const preferred = slices.filter(({ addressType }) => addressType === first)
  const others = slices.filter(({ addressType }) => addressType !== first && addressType !== 'FQDN')
  return [...preferred, ...others].flatMap(({ ports = [], endpoints = [] }) => {
    const port = (ports ?? []).find(each => (each.name ?? '') === portName)?.port
    if (port === undefined) return []
    return (endpoints ?? []).flatMap(({ addresses: [address], conditions, targetRef }) => {
      const isReady = conditions?.ready ?? true
      if (!isReady || address === undefined || targetRef?.kind !== 'Pod') return []
      const { namespace = '', name = '' } = targetRef
      return [{ address, port, pod: { namespace, name } }]
    })
  })
}

/**
 * True if the server may connect to the address: a unicast address that is neither loopback nor link-local,
 * where services often trust local clients.
 */
export function isProxyableAddress(text: string): boolean {
  const parsed = parseIp(text)
  if (parsed === undefined) return false
  const { family, value } = unmapIp(parsed)
  if (family === 4) {
    const first = value >> 24n
    const isSpecial = value === 0n || first === 127n || value >> 16n === 0xa9fen
    return !isSpecial && (first < 224n || first >= 240n) && value !== 0xffff_ffffn
  }
  return value > 1n && value >> 120n !== 0xffn && value >> 118n !== 0x3fan
}

/** The target in a proxy path: `name`, `name:port` or `scheme:name:port`. */
interface TargetName {
  readonly scheme: '' | 'http' | 'https'
  readonly name: string
  /** Port number or name; empty for the default. */
  readonly port: string
}

/** Undefined if the syntax is invalid. */
export function parseTargetName(text: string): TargetName | undefined {
  const parts = text.split(':')
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || name === '') return undefined
  return scheme === '' || scheme === 'http' || scheme === 'https' ? { scheme, name, port } : undefined
}
