import type { PortPlan } from '../plan.ts'

/** A conntrack entry: the original destination, and the source of the replies. */
export interface Flow {
  readonly to: Socket
  readonly answeredBy: Socket
}

export interface Socket {
  readonly address: string
  readonly port: number
}

/** Parses the output of `conntrack -L -p udp`. */
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
 * The flows to endpoints that no longer serve. conntrack keeps the translation of a flow while packets
 * arrive, so a UDP client that never pauses would never reach another endpoint. Each pair is returned once.
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
    // Node ports are matched by number only, so only translated flows can belong to a service.
    const isSentOn = answeredBy.address !== to.address
    const serving = byAddress.get(textOf(to)) ?? (isSentOn ? byNodePort.get(to.port) : undefined)
    return serving !== undefined && !serving.has(textOf(answeredBy))
  })
  return [...new Map(stale.map(flow => [`${textOf(flow.to)} ${textOf(flow.answeredBy)}`, flow])).values()]
}

/** True if a change of a port's plan may make existing flows stale. */
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
