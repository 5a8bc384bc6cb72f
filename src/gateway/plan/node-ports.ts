/** Unprivileged ports below Linux' range of ephemeral ports (32768) and that of node ports (30000). */
export const listenerPorts = { first: 20_000, count: 8_192 } as const

export interface PortAllocation {
  /** By key; a key without a port is missing. */
  readonly ports: ReadonlyMap<string, number>
  /** Keys that got no port, since all are in use. */
  readonly unallocated: readonly string[]
}

/**
 * Every key keeps its port; new ones get the first free port, in the order of the keys. The ports of
 * `known` keys that are no longer wanted stay reserved: EndpointSlices of removed Gateways may still lead
 * to them.
 */
export function allocatePorts(keys: readonly string[], known: ReadonlyMap<string, number>): PortAllocation {
  const ports = new Map<string, number>()
  const given = new Set<number>()
  for (const key of keys) {
    const port = known.get(key)
    if (port === undefined || !isInRange(port) || given.has(port)) continue
    ports.set(key, port)
    given.add(port)
  }
  const taken = new Set(known.values())
  const unallocated: string[] = []
  let next = listenerPorts.first
  for (const key of keys.toSorted()) {
    if (ports.has(key)) continue
    while (taken.has(next)) next += 1
    if (!isInRange(next)) {
      unallocated.push(key)
      continue
    }
    ports.set(key, next)
    taken.add(next)
  }
  return { ports, unallocated }
}

function isInRange(port: number): boolean {
  return port >= listenerPorts.first && port < listenerPorts.first + listenerPorts.count
}
