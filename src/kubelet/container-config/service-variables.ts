/**
 * Environment variables for services that exist when the container is created; the API server's service is
 * always included. https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { KubeletPod } from '../kubelet-pod.ts'

type Variable = readonly [name: string, value: string]

export function serviceVariables(
  pod: KubeletPod,
  services: readonly Stored<Service>[],
): ReadonlyMap<string, string> {
  const byName = new Map<string, Stored<Service>>()
  for (const service of services) {
    const { name, namespace } = service.metadata
    if (!hasAddress(service)) continue
    if (isApiService(service)) {
      // A service of the same name in the pod's namespace takes precedence.
      if (!byName.has(name)) byName.set(name, service)
    } else if (namespace === pod.metadata.namespace && (pod.spec?.enableServiceLinks ?? true)) {
      byName.set(name, service)
    }
  }
  return new Map([...byName.values()].flatMap(variablesOf))
}

function isApiService({ metadata }: Service): boolean {
  return metadata.name === 'kubernetes' && metadata.namespace === 'default'
}

function hasAddress({ spec }: Service): boolean {
  const { clusterIP = '' } = spec ?? {}
  return clusterIP !== '' && clusterIP !== 'None'
}

function variablesOf({ metadata, spec }: Stored<Service>): Variable[] {
  const prefix = variableName(metadata.name)
  const { clusterIP: address = '', ports = [] } = spec ?? {}
  const [first] = ports
  if (first === undefined) return []
  return [
    [`${prefix}_SERVICE_HOST`, address],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports
      .filter(({ name }) => name)
      .map(({ name = '', port }): Variable => {
        return [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]
      }),
    [`${prefix}_PORT`, urlOf(first, address)],
    ...ports.flatMap(port => linkVariables(prefix, port, address)),
  ]
}

/** Variables in the format of Docker links. */
function linkVariables(prefix: string, port: ServicePort, address: string): Variable[] {
  const { protocol = 'TCP' } = port
  const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`
  return [
    [name, urlOf(port, address)],
    [`${name}_PROTO`, protocol.toLowerCase()],
    [`${name}_PORT`, String(port.port)],
    [`${name}_ADDR`, address],
  ]
}

function urlOf({ protocol = 'TCP', port }: ServicePort, address: string): string {
  return `${protocol.toLowerCase()}://${address.includes(':') ? `[${address}]` : address}:${port}`
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase()
}
