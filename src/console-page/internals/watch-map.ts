/** An entry of `/debug/watches`. */
export interface ServedWatch {
  readonly user: string
  readonly userAgent: string
  readonly apiVersion: string
  readonly resource: string
  readonly namespace: string
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly since: string
  /** Events that the client has not read yet. */
  readonly backlog: number
  readonly sent: number
}

export interface WatchMap {
  /** Groups of clients, those with most watches first. */
  readonly clients: readonly WatchingClient[]
  /** Resources, by name. */
  readonly resources: readonly WatchedResource[]
}

export interface WatchingClient {
  readonly name: string
  readonly watches: number
}

export interface WatchedResource {
  readonly name: string
  readonly watches: number
  /** By client; clients without a watch are absent. */
  readonly cells: ReadonlyMap<string, WatchCell>
}

export interface WatchCell {
  readonly watches: number
  readonly backlog: number
  readonly sent: number
}

/** Clients beyond this number are shown as one. */
const clientsMax = 12
const otherClients = 'other clients'

/** Who watches what: resources by clients. */
export function watchMap(watches: readonly ServedWatch[]): WatchMap {
  const counts = new Map<string, number>()
  for (const watch of watches) {
    const client = clientOfWatch(watch)
    counts.set(client, (counts.get(client) ?? 0) + 1)
  }
  const byCount = [...counts].sort(([, left], [, right]) => right - left)
  const shown = new Set(
    byCount.slice(0, byCount.length > clientsMax ? clientsMax - 1 : clientsMax).map(([name]) => name),
  )
  const columnOf = (watch: ServedWatch): string => {
    const client = clientOfWatch(watch)
    return shown.has(client) ? client : otherClients
  }
  const others = watches.filter(watch => columnOf(watch) === otherClients).length
  const clients = byCount
    .filter(([name]) => shown.has(name))
    .map(([name, count]) => ({ name, watches: count }))
  if (others > 0) clients.push({ name: otherClients, watches: others })
  return { clients, resources: resourcesOf(watches, columnOf) }
}

function resourcesOf(
  watches: readonly ServedWatch[],
  columnOf: (watch: ServedWatch) => string,
): WatchedResource[] {
  const resources = new Map<string, { watches: number; cells: Map<string, WatchCell> }>()
  for (const watch of watches) {
    const name = watchedResource(watch)
    const row = resources.get(name) ?? { watches: 0, cells: new Map<string, WatchCell>() }
    const client = columnOf(watch)
    const cell = row.cells.get(client) ?? { watches: 0, backlog: 0, sent: 0 }
    row.watches++
    row.cells.set(client, {
      watches: cell.watches + 1,
      backlog: cell.backlog + watch.backlog,
      sent: cell.sent + watch.sent,
    })
    resources.set(name, row)
  }
  return [...resources]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, row]) => ({ name, ...row }))
}

/** All nodes are one client, and so are all service accounts of a namespace but those of kube-system. */
export function clientOfWatch({ user, userAgent }: Pick<ServedWatch, 'user' | 'userAgent'>): string {
  if (user.startsWith('system:node:')) return 'nodes'
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user)
  if (account) return account[1] === 'kube-system' ? `${account[2]}` : `service accounts of ${account[1]}`
  if (user.startsWith('system:')) return user.slice('system:'.length)
  const program = userAgent.startsWith('Mozilla/') ? 'browser' : userAgent.split(/[/ ]/)[0]
  return program && program !== user ? `${user} (${program})` : user
}

/** `pods`, `deployments.apps`. */
export function watchedResource({
  apiVersion,
  resource,
}: Pick<ServedWatch, 'apiVersion' | 'resource'>): string {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? resource : `${resource}.${apiVersion.slice(0, slash)}`
}
