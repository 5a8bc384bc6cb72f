import type { PortPlan } from '../plan.ts'

/** An entry of the kernel's table of connections: where a client sent its packets, and who answers it. */
export interface Flow {
  readonly to: Socket
  readonly answeredBy: Socket
}

export interface Socket {
  readonly address: string
  readonly port: number
}

/** Flows of UDP in what `conntrack -L -p udp` says. */
export function parseFlows(text: string): readonly Flow[] {
  return text.split('\n').flatMap(line => {
    const [to, back] = [...line.matchAll(/\bdst=(\S+) sport=\d+ dport=(\d+)/g)]
    const [, from] = [...line.matchAll(/\bsrc=(\S+) dst=\S+ sport=(\d+)/g)]
    if (!to || !back || !from) return []
    return {
      to: { address: to[1]!, port: Number(to[2]) },
      answeredBy: { address: from[1]!, port: Number(from[2]) },
    }
  })
}

/**
 * The flows that go on to where nobody serves any more. The kernel keeps a flow on its way for as long as packets come,
 * and a client of UDP that never stops would never learn of another endpoint. Each pair comes once.
 */
export function planStaleFlows(flows: readonly Flow[], ports: Iterable<PortPlan>): readonly Flow[] {
  const byAddress = new Map<string, ReadonlySet<string>>()
  const byNodePort = new Map<number, ReadonlySet<string>>()
  for (const { protocol, port, clusterIp, externalIps, balancerIps, nodePort, endpoints } of ports) {
    if (protocol !== 'udp') continue
    const serving = new Set(endpoints.serving.map(textOf))
    for (const address of [clusterIp, ...externalIps, ...balancerIps]) {
      byAddress.set(textOf({ address, port }), serving)
    }
    if (nodePort !== undefined) byNodePort.set(nodePort, serving)
  }
  const stale = flows.filter(({ to, answeredBy }) => {
    // A node port is known by its number alone: only flows that are sent on can be ours.
    const isSentOn = answeredBy.address !== to.address
    const serving = byAddress.get(textOf(to)) ?? (isSentOn ? byNodePort.get(to.port) : undefined)
    return serving !== undefined && !serving.has(textOf(answeredBy))
  })
  return [...new Map(stale.map(flow => [`${textOf(flow.to)} ${textOf(flow.answeredBy)}`, flow])).values()]
}

/** Whether flows that exist may be concerned when one plan of a port follows the other. */
export function concernsFlows(before: PortPlan | undefined, after: PortPlan | undefined): boolean {
  if ((before ?? after)?.protocol !== 'udp') return false
  return flowsOf(before) !== flowsOf(after)
}

function flowsOf(plan: PortPlan | undefined): string {
  if (plan === undefined) return ''
  const { port, clusterIp, externalIps, balancerIps, nodePort, endpoints } = plan
  return JSON.stringify([port, clusterIp, externalIps, balancerIps, nodePort, endpoints.serving.map(textOf)])
}

function textOf({ address, port }: Socket): string {
  return `${address} ${port}`
}
