import { objectId } from './objects.ts'

/** A client and the set of the endpoint that it belongs to. */
export interface KeptClient {
  readonly set: string
  readonly client: string
  readonly timeoutSeconds: number
  readonly expiresSeconds: number
}

/** Clients that are carried over into a new table; more are given to endpoints anew. */
const clientsMax = 10_000

/** The clients of affinity sets in what `nft -j list sets` says. What cannot be read is left out. */
export function parseSets(text: string, table: string): readonly KeptClient[] {
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

/** Of those, the ones whose endpoints there still are. */
export function keptAffinity(
  clients: readonly KeptClient[],
  objects: ReadonlyMap<string, string>,
): readonly KeptClient[] {
  return clients.filter(({ set }) => objects.has(objectId('set', set))).slice(0, clientsMax)
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
