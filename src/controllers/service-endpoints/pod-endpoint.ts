import type { Container, Pod, Service, ServicePort } from '#/api/generated/core/v1.ts'
import { formatIp, parseIpLeniently, unmapIp, type IpFamily } from '#/api/ip.ts'
import { isPodFinished } from '../pods.ts'

/** Whether somebody may be sent to the pod: it has an address, and something that may listen there. */
export function hasEndpoint(pod: Pod): boolean {
  return !isPodFinished(pod) && Boolean(pod.status?.podIP || pod.status?.podIPs?.length)
}

type Addresses = Readonly<Record<IpFamily, readonly string[]>>

/** Of pods seen before: objects never change, and a service asks for its pods again and again. */
const known = new WeakMap<Pod, Addresses>()

/** The addresses of a pod by family, in canonical form. */
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

/** The name of the pod's own, for a service that gives its pods names. */
export function endpointHostname({ metadata, spec }: Pod, service: Service): string | undefined {
  const { name, namespace } = service.metadata ?? {}
  const isNamed = spec?.hostname && spec.subdomain === name && metadata?.namespace === namespace
  return isNamed ? spec.hostname : undefined
}

/** Where a pod listens for a port of a service; undefined when no container has a port of that name. */
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

/** Whether the service has no address of its own and stands for those of its pods. */
export function isHeadless({ spec }: Service): boolean {
  return !spec?.clusterIP || spec.clusterIP === 'None'
}

export const headlessLabel = 'service.kubernetes.io/headless'
