/** Resolves the target of pod, service and node proxy requests. */
import { badRequest, serviceUnavailable } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import type { Stored } from '#/api/metadata.ts'
import type { HttpClient } from '#/platform/http-client.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import type { Kubelets } from '../kubelets.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { endpointsOf, servicePortName, type ServiceEndpoint } from './choose-endpoint.ts'
import { findObject } from './find-object.ts'
import { isProxyableAddress } from './is-proxyable-address.ts'
import { originOf } from './locate-kubelet.ts'
import type { RemoteClients } from './remote-clients.ts'
import { parseTargetName, type TargetName } from './target-name.ts'

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

function slicesOf({ objects, info }: RequestScope, service: string): readonly EndpointSlice[] {
  const found: EndpointSlice[] = []
  for (const { object } of objects.list(prefixOf(endpointSlices, info.namespace))) {
    if (object.metadata.labels?.['kubernetes.io/service-name'] === service) {
      found.push(object as EndpointSlice)
    }
  }
  return found
}

function isOfPod({ objects, info }: RequestScope, { address, pod }: ServiceEndpoint): boolean {
  if (pod.namespace !== info.namespace) return false
  const stored = objects.get(keyOf(pods, pod.namespace, pod.name))?.object as Stored<Pod> | undefined
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
