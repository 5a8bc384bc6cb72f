/**
 * A layer-4 balancer between the clients of one host and the API servers of a cluster. It listens on a loopback
 * address and forwards each connection to one API server. TLS passes through: clients verify the certificate of the API
 * server, which must contain the address of the balancer. It has no health checks of the API servers' content, and
 * moves no established connection: a client whose API server is gone is disconnected, and gets another one.
 */
import type { Duplex } from 'node:stream'
import { assert } from '#/base/assert.ts'
import { abortable } from '#/base/abort.ts'
import type { Listener, Platform, Timer } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { Backend } from './api-server-balancer/backend.ts'
import { chooseBackend, type BackendRole } from './api-server-balancer/choose-backend.ts'
import { formatServerAddress, parseServerAddress, type ServerAddress } from './server-address.ts'

export interface ApiServerBalancerOptions {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'network' | 'log'>
  /** The loopback address 127.0.0.1 when absent. */
  readonly host?: string
  /** 0 picks a free one. */
  readonly port: number
  readonly servers: ServerList
  /** `HOST:PORT` of the API server of this host: used while it is in the list and healthy. */
  readonly preferredServer?: string | undefined
  /** Connections of clients; further ones are closed at once. */
  readonly connectionsMax?: number
}

/** Addresses `HOST:PORT`. */
export interface ServerList {
  /** Not empty. */
  readonly servers: readonly string[]
  /** Addresses from the time of joining: used when no API server of the list can be connected to. */
  readonly bootstrapServers: readonly string[]
}

export interface BalancerDescription {
  readonly address: ServerAddress | undefined
  readonly connectionCount: number
  readonly servers: readonly ServerDescription[]
}

export interface ServerDescription {
  readonly server: string
  /** `draining`: removed from the list, its last connections are about to be closed. */
  readonly role: BackendRole | 'draining'
  readonly isPreferred: boolean
  readonly isHealthy: boolean
  /** Established and being established. */
  readonly connectionCount: number
  /** Why it is not healthy. */
  readonly error?: string
  /** Time until it is tried again, if it is not healthy. */
  readonly retryInMs?: number
}

/** A host has tens of connections. Each needs two file descriptors. */
const connectionsMaxUsual = 4_000

/** Time in which an API server that was removed from the list can complete requests: it is usually stopping. */
const drainMs = 5_000

export class ApiServerBalancer {
  readonly #options: ApiServerBalancerOptions
  readonly #throttledLog: ThrottledLog
  readonly #preferred: string | undefined
  /** By address. */
  readonly #backends = new Map<string, Backend>()
  /** Backends that are no longer in the list, until their connections are closed. */
  readonly #draining = new Map<Backend, Timer>()
  /** Connections of clients. */
  readonly #clients = new Set<Duplex>()
  readonly #listening = Promise.withResolvers<ServerAddress>()
  #address: ServerAddress | undefined
  #isStopped = false

  constructor(options: ApiServerBalancerOptions) {
    this.#options = options
    this.#throttledLog = new ThrottledLog(options.platform)
    const { preferredServer } = options
    this.#preferred = preferredServer && formatServerAddress(addressOf(preferredServer))
    this.setServers(options.servers)
    // Prevents an unhandled rejection: `run` rejects with the same error.
    this.#listening.promise.catch(() => undefined)
  }

  /** The bound address; rejects when it is in use. */
  get listening(): Promise<ServerAddress> {
    return this.#listening.promise
  }

  /** Replaces the API servers. Connections to removed ones are closed after a short time. */
  setServers({ servers, bootstrapServers }: ServerList): void {
    assert(servers.length > 0, 'the list of API servers is empty')
    const roles = new Map<string, BackendRole>()
    for (const text of bootstrapServers) roles.set(formatServerAddress(addressOf(text)), 'last-resort')
    for (const text of servers) roles.set(formatServerAddress(addressOf(text)), 'server')
    const { host = '127.0.0.1', port } = this.#options
    const own = formatServerAddress(this.#address ?? { host, port })
    if (roles.has(own))
      throw new Error(`the list of API servers contains ${own}, the address of the balancer itself`)
    for (const backend of this.#backends.values()) {
      const isDemoted = backend.role === 'server' && roles.get(backend.address) !== 'server'
      if (isDemoted || !roles.has(backend.address)) this.#remove(backend)
    }
    for (const [address, role] of roles) {
      const known = this.#backends.get(address)
      if (known === undefined) this.#add(address, role)
      else known.role = role
    }
  }

  /** The state, for humans. */
  describe(): BalancerDescription {
    const nowMs = this.#options.platform.clock.monotonicMs()
    const describeBackend = (backend: Backend): ServerDescription => {
      const { address, role, isHealthy, retryMs, connectionCount } = backend.state
      return {
        server: address,
        role: this.#draining.has(backend) ? 'draining' : role,
        isPreferred: address === this.#preferred,
        isHealthy,
        connectionCount,
        ...(backend.error !== undefined && { error: backend.error }),
        ...(!isHealthy && { retryInMs: Math.max(0, Math.round(retryMs - nowMs)) }),
      }
    }
    return {
      address: this.#address,
      connectionCount: this.#clients.size,
      servers: [...this.#backends.values(), ...this.#draining.keys()].map(describeBackend),
    }
  }

  /** Forwards connections until aborted. Rejects when the address is in use. */
  async run(signal: AbortSignal): Promise<void> {
    await using listener = await this.#listen()
    const { log } = this.#options.platform
    const servers = [...this.#backends.keys()]
    log.info('Serving API server balancer', { address: formatServerAddress(addressIn(listener)), servers })
    await abortable(new Promise<never>(() => undefined), signal).catch(() => undefined)
    this.#isStopped = true
    for (const [backend, timer] of this.#draining) {
      timer.cancel()
      backend[Symbol.dispose]()
    }
    for (const backend of this.#backends.values()) backend[Symbol.dispose]()
    for (const client of this.#clients) client.destroy()
  }

  async #listen(): Promise<Listener> {
    const { platform, host = '127.0.0.1', port } = this.#options
    try {
      const listener = await platform.network.listen({ host, port }, client => void this.#serve(client))
      this.#address = addressIn(listener)
      this.#listening.resolve(this.#address)
      return listener
    } catch (cause) {
      const error = new Error(`API server balancer: cannot listen on ${host} port ${port}`, { cause })
      this.#listening.reject(error)
      throw error
    }
  }

  async #serve(client: Duplex): Promise<void> {
    const { connectionsMax = connectionsMaxUsual } = this.#options
    if (this.#isStopped || this.#clients.size >= connectionsMax) {
      client.destroy()
      this.#throttledLog.warn('connections', 'Too many connections, refusing new ones', { connectionsMax })
      return
    }
    const closed = new AbortController()
    this.#clients.add(client)
    client.once('close', () => {
      this.#clients.delete(client)
      closed.abort()
    })
    const found = await this.#connect(closed.signal)
    if (found === undefined) return void client.destroy()
    const { backend, server } = found
    if (client.destroyed || server.destroyed) {
      server.destroy()
      client.destroy()
    } else {
      backend.forward(client, server)
    }
  }

  /** Tries one backend after the other. No data has been forwarded yet, so that the client does not notice. */
  async #connect(signal: AbortSignal): Promise<{ backend: Backend; server: Duplex } | undefined> {
    for (const backend of this.#backends.values()) backend.retry()
    const tried = new Set<string>()
    while (!signal.aborted) {
      const states = [...this.#backends.values()].map(({ state }) => state)
      const chosen = chooseBackend(states, { preferred: this.#preferred, tried })
      const backend = chosen && this.#backends.get(chosen.address)
      if (backend === undefined) {
        const servers = [...tried]
        this.#throttledLog.error('all', 'No API server can be connected to, closing connection', { servers })
        return undefined
      }
      tried.add(backend.address)
      const server = await backend.connect(signal)
      // Removed from the list in the meantime.
      if (this.#backends.get(backend.address) !== backend) server?.destroy()
      else if (server !== undefined) return { backend, server }
    }
    return undefined
  }

  #add(address: string, role: BackendRole): void {
    const { platform } = this.#options
    const backend = new Backend({
      platform,
      throttledLog: this.#throttledLog,
      server: addressOf(address),
      role,
    })
    this.#backends.set(address, backend)
  }

  #remove(backend: Backend): void {
    const { clock, log } = this.#options.platform
    this.#backends.delete(backend.address)
    const { address: server, state } = backend
    log.info('API server removed from the list', { server, connections: state.connectionCount })
    if (state.connectionCount === 0) return backend[Symbol.dispose]()
    const timer = clock.setTimer(drainMs, () => {
      this.#draining.delete(backend)
      backend[Symbol.dispose]()
    })
    this.#draining.set(backend, timer)
  }
}

function addressOf(text: string): ServerAddress {
  const address = parseServerAddress(text)
  if (address === undefined) throw new Error(`"${text}" is not an address HOST:PORT of an API server`)
  return address
}

function addressIn({ address }: Listener): ServerAddress {
  assert('port' in address, 'the balancer listens on TCP')
  return address
}
