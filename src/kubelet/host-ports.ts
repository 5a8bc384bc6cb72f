/** Host port mappings of a pod. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { PortMapping } from '#/cri/cri.ts'

/** Empty with `hostNetwork`: container ports are the node's ports then. */
export function hostPortsOf(pod: Pod): readonly PortMapping[] {
  const { containers = [], hostNetwork = false } = pod.spec ?? {}
  if (hostNetwork) return []
  const mappings = new Map<string, PortMapping>()
  for (const { ports = [] } of containers) {
    for (const { containerPort, hostPort = 0, hostIP: hostIp = '', protocol = 'TCP' } of ports) {
      if (hostPort <= 0 || !isProtocol(protocol)) continue
      const key = `${protocol} ${hostIp} ${hostPort} ${containerPort}`
      mappings.set(key, { protocol, containerPort, hostPort, hostIp })
    }
  }
  return [...mappings.values()]
}

function isProtocol(text: string): text is PortMapping['protocol'] {
  return text === 'TCP' || text === 'UDP' || text === 'SCTP'
}
