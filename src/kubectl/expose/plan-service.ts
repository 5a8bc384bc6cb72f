import { parseIntOrString } from '#/api/text/int-or-string.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { generatedObject, type GeneratedResource } from '../create/generated-object.ts'

export const services: GeneratedResource = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  scope: 'Namespaced',
}

/** What the flags and the exposed object say about the service. */
export interface ServiceRequest {
  readonly name: string
  readonly selector: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Numbers, as texts. */
  readonly ports: readonly string[]
  /** By port, those of the exposed object. */
  readonly protocols?: ReadonlyMap<string, readonly string[]> | undefined
  /** Instead of `protocols`. */
  readonly protocol?: string | undefined
  /** The default is the port. */
  readonly targetPort?: string | undefined
  readonly type?: string | undefined
  readonly clusterIP?: string | undefined
  readonly externalIP?: string | undefined
  readonly loadBalancerIP?: string | undefined
  readonly sessionAffinity?: string | undefined
}

/** The service that exposes an object. Throws Error for ports and values that are invalid. */
export function planService(request: ServiceRequest): JsonObject {
  const { name, selector, labels = {}, type, clusterIP, externalIP, sessionAffinity } = request
  const ports = planPorts(request)
  if (sessionAffinity && !['None', 'ClientIP'].includes(sessionAffinity)) {
    throw new Error(`unknown session affinity: ${sessionAffinity}`)
  }
  return generatedObject(services, {
    metadata: { name, labels: { ...labels } },
    spec: {
      ...(ports.length > 0 && { ports }),
      selector: { ...selector },
      ...(clusterIP && { clusterIP }),
      ...(type && { type }),
      ...(externalIP && { externalIPs: [externalIP] }),
      ...(sessionAffinity && { sessionAffinity }),
      ...(type === 'LoadBalancer' && request.loadBalancerIP && { loadBalancerIP: request.loadBalancerIP }),
    },
    status: { loadBalancer: {} },
  })
}

/** Several ports have names, which must be unique. */
function planPorts(request: ServiceRequest): JsonObject[] {
  const { ports, protocols = new Map<string, readonly string[]>(), protocol, targetPort } = request
  return ports.flatMap((text, index) => {
    const port = parsePort(text)
    const name = ports.length > 1 ? `port-${index + 1}` : ''
    const target = targetPort ? parseIntOrString(targetPort) : port
    const portOf = (portName: string, of: string): JsonObject => ({
      ...(portName !== '' && { name: portName }),
      protocol: of,
      port,
      targetPort: target,
    })
    if (protocol) return [portOf(name, protocol)]
    const [only = 'TCP', ...others] = protocols.get(text) ?? []
    if (others.length === 0) return [portOf(name, only)]
    return [only, ...others].map(each => portOf(`port-${index + 1}-${each.toLowerCase()}`, each))
  })
}

function parsePort(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw new Error(`strconv.Atoi: parsing ${quote(text)}: invalid syntax`)
}
