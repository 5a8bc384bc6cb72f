import type { Container, Pod, Service, ServicePort } from '#/api/generated/core/v1.ts'
import { formatIp, parseIpLeniently, unmapIp, type IpFamily } from '#/api/net/ip.ts'
import { isPodTerminal } from '../pods.ts'

/** True if the pod has an IP address and has not finished. */
export function hasEndpoint(pod: Pod): boolean {
  return !isPodTerminal(pod) && Boolean(pod.status?.podIP || pod.status?.podIPs?.length)
}

type Addresses = Readonly<Record<IpFamily, readonly string[]>>

/** Cache by pod: objects are immutable, and a service's pods are evaluated repeatedly. */
const known = new WeakMap<Pod, Addresses>()

/** Pod IPs by family, in canonical form. */
export function podAddresses(pod: Pod): Addresses {
  const cached = known.get(pod)
  if (cached !== undefined) return cached
  const { podIP, podIPs = podIP ? [{ ip: podIP }] : [] } = pod.status ?? {}
  const ips = podIPs.flatMap(({ ip }) => parseIpLeniently(ip) ?? []).map(unmapIp)
  const of = (family: IpFamily): readonly string[] => ips.filter(ip => ip.family === family).map(formatIp)
  const addresses = { 4: of(4), 6: of(6) }
  known.set(pod, addresses)
  return addresses
}

/** The pod's hostname, if the service is its governing service (`subdomain`). */
export function endpointHostname({ metadata, spec }: Pod, service: Service): string | undefined {
  const { name, namespace } = service.metadata
  const isNamed = spec?.hostname && spec.subdomain === name && metadata.namespace === namespace
  return isNamed ? spec.hostname : undefined
}

/** Port number of a service port on a pod; undefined if no container has a port of that name. */
export function targetPort(
  pod: Pod,
  { port, targetPort: target, protocol }: ServicePort,
): number | undefined {
  if (typeof target !== 'string') return target || port
  const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always'
  for (const container of [
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.initContainers?.filter(isSidecar) ?? []),
  ]) {
    const found = container.ports?.find(each => {
      return each.name === target && (each.protocol ?? 'TCP') === (protocol ?? 'TCP')
    })
    if (found) return found.containerPort
  }
  return undefined
}

/** True if the service has no cluster IP. */
export function isHeadless({ spec }: Service): boolean {
  return !spec?.clusterIP || spec.clusterIP === 'None'
}

export const headlessLabel = 'service.kubernetes.io/headless'
