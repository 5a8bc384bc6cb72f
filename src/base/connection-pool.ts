/**
 * Decides which connections a server keeps when clients open more than it can hold. At the bound the address with the
 * most connections loses its oldest, which keeps the server reachable for all other addresses, and for the same
 * address as well.
 */
export class ConnectionPool<C extends object> {
  readonly #max: number
  /** By group of addresses; oldest first, with the time of arrival. */
  readonly #groups = new Map<string, Map<C, number>>()
  /** Names of the groups. */
  readonly #names = new Map<C, string>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#names.size
  }

  [Symbol.iterator](): Iterator<C> {
    return this.#names.keys()
  }

  /** Returns the connection that has to be closed: an older one, or the new one, which is not added then. */
  add(connection: C, { address, nowMs }: ConnectionArrival): C | undefined {
    const name = groupName(address)
    const displaced = this.size < this.#max ? undefined : this.#displaced(name, nowMs)
    if (displaced === 'none') return connection
    if (displaced !== undefined) this.delete(displaced)
    this.#groups.getOrInsertComputed(name, () => new Map<C, number>()).set(connection, nowMs)
    this.#names.set(connection, name)
    return displaced
  }

  delete(connection: C): void {
    const name = this.#names.get(connection)
    if (name === undefined) return
    this.#names.delete(connection)
    const group = this.#groups.get(name)!
    group.delete(connection)
    if (group.size === 0) this.#groups.delete(name)
  }

  #displaced(name: string, nowMs: number): C | 'none' {
    const own = this.#groups.get(name)
    let largest: Map<C, number> | undefined
    for (const group of this.#groups.values()) if (group.size > (largest?.size ?? 0)) largest = group
    if (largest === undefined) return 'none'
    const [oldest, sinceMs] = largest.entries().next().value!
    const isFair = largest.size > (own?.size ?? 0) + 1
    return isFair || (largest === own && nowMs - sinceMs >= displaceableMs) ? oldest : 'none'
  }
}

export interface ConnectionArrival {
  /** The IP address of the client. */
  readonly address: string
  readonly nowMs: number
}

/**
 * Age before which a connection is not closed for a newer one of its own address. Otherwise none of many clients that
 * connect at the same time would finish its handshake.
 */
const displaceableMs = 1_000

/** A client has usually a whole /64 network of IPv6 addresses. */
function groupName(address: string): string {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [head = '', tail] = address.split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
