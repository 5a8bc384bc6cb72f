import { objectId } from '#/nftables/objects.ts'

/** A client, and the affinity set of its endpoint. */
export interface AffinityEntry {
  readonly set: string
  readonly client: string
  readonly timeoutSeconds: number
  readonly expiresSeconds: number
}

/** Maximum number of clients carried over into a new table; the others lose their affinity. */
const clientsMax = 10_000

/** Clients in the affinity sets of the output of `nft -j list sets`. Unreadable entries are skipped. */
export function parseSets(text: string, table: string): readonly AffinityEntry[] {
  const { nftables = [] } = JSON.parse(text) as {
    readonly nftables?: readonly { readonly set?: ListedSet }[]
  }
  const sets = nftables.flatMap(({ set }) =>
    set?.table === table && set.name.startsWith('affinity/') ? set : [],
  )
  return sets.flatMap(({ name, elem = [] }) => {
    return elem.flatMap(listed => {
      const { val, timeout, expires } = typeof listed === 'object' ? listed.elem : {}
      if (val === undefined || !timeout || !expires) return []
      return { set: name, client: val, timeoutSeconds: timeout, expiresSeconds: expires }
    })
  })
}

/** The clients with endpoints that still exist. */
export function retainedAffinity(
  clients: readonly AffinityEntry[],
  objects: ReadonlyMap<string, string>,
): readonly AffinityEntry[] {
  return clients.filter(({ set }) => objects.has(objectId('set', set))).slice(0, clientsMax)
}

/** Commands that add the clients to their sets in the new table. */
export function restoreCommands(clients: readonly AffinityEntry[], table: string): readonly string[] {
  return clients.map(({ set, client, expiresSeconds, timeoutSeconds }) => {
    const times = `timeout ${timeoutSeconds}s expires ${expiresSeconds}s`
    return `add element ${table} ${set} { ${client} ${times} }`
  })
}

interface ListedSet {
  readonly table: string
  readonly name: string
  readonly elem?: readonly (string | { readonly elem: ListedElement })[]
}

interface ListedElement {
  readonly val?: string
  readonly timeout?: number
  readonly expires?: number
}
