/** Parses conntrack entries and plans which of them are stale. */
import type { PortPlan } from './plan.ts'

/** A conntrack entry: the original destination, and the source of the replies. */
export interface ConntrackEntry {
  readonly origDst: Socket
  readonly replySrc: Socket
}

export interface Socket {
  readonly address: string
  readonly port: number
}

/** Parses the output of `conntrack -L -p udp`. */
export function parseConntrack(text: string): readonly ConntrackEntry[] {
  return text.split('\n').flatMap(line => {
    const [to, back] = [...line.matchAll(/\bdst=(\S+) sport=\d+ dport=(\d+)/g)]
    const [, from] = [...line.matchAll(/\bsrc=(\S+) dst=\S+ sport=(\d+)/g)]
    if (!to || !back || !from) return []
    return {
      origDst: { address: to[1]!, port: Number(to[2]) },
      replySrc: { address: from[1]!, port: Number(from[2]) },
    }
  })
}

/**
 * The entries of flows to endpoints that no longer serve. conntrack keeps the translation of a flow while
 * packets arrive, so a UDP client that never pauses would never reach another endpoint. Each pair is returned once.
 */
export function planConntrackCleanup(
  entries: readonly ConntrackEntry[],
  ports: Iterable<PortPlan>,
): readonly ConntrackEntry[] {
  const byAddress = new Map<string, ReadonlySet<string>>()
  const byNodePort = new Map<number, ReadonlySet<string>>()
  for (const { protocol, port, clusterIp, externalIps, loadBalancerIps, nodePort, endpoints } of ports) {
    if (protocol !== 'udp') continue
    const serving = new Set(endpoints.serving.map(textOf))
    for (const address of [clusterIp, ...externalIps, ...loadBalancerIps]) {
      byAddress.set(textOf({ address, port }), serving)
    }
    if (nodePort !== undefined) byNodePort.set(nodePort, serving)
  }
  const stale = entries.filter(({ origDst, replySrc }) => {
    // Node ports are matched by number only, so only translated flows can belong to a service.
    const isSentOn = replySrc.address !== origDst.address
    const serving = byAddress.get(textOf(origDst)) ?? (isSentOn ? byNodePort.get(origDst.port) : undefined)
    return serving !== undefined && !serving.has(textOf(replySrc))
  })
  return [
    ...new Map(stale.map(entry => [`${textOf(entry.origDst)} ${textOf(entry.replySrc)}`, entry])).values(),
  ]
}

/** True if a change of a port's plan may make conntrack entries stale. */
export function affectsConntrack(oldPlan: PortPlan | undefined, newPlan: PortPlan | undefined): boolean {
  if ((oldPlan ?? newPlan)?.protocol !== 'udp') return false
  return entryStateOf(oldPlan) !== entryStateOf(newPlan)
}

function entryStateOf(plan: PortPlan | undefined): string {
  if (plan === undefined) return ''
  const { port, clusterIp, externalIps, loadBalancerIps, nodePort, endpoints } = plan
  return JSON.stringify([
    port,
    clusterIp,
    externalIps,
    loadBalancerIps,
    nodePort,
    endpoints.serving.map(textOf),
  ])
}

function textOf({ address, port }: Socket): string {
  return `${address} ${port}`
}
