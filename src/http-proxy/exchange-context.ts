/** The parts of the proxy that the exchanges of a connection use. */
import { cidrContains, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import { parseIp, unmapIp } from '#/api/net/ip.ts'
import { LruMap } from '#/base/lru-map.ts'
import type { Clock } from '#/platform/platform.ts'
import type { AccessLogEntry } from './access-log.ts'
import type { BackendPool } from './backends/backend-pool.ts'
import type { ProxyLimits } from './proxy-limits.ts'
import type { ConnectionRejection, ProxyMetrics } from './proxy-metrics.ts'
import type { RoutingTable } from './routing/compile-routes.ts'
import type { Tunnel } from './tunnel.ts'

export interface ProxyCore {
  readonly clock: Clock
  readonly limits: ProxyLimits
  readonly metrics: ProxyMetrics
  /** By id. */
  readonly backends: ReadonlyMap<string, BackendPool>
  readonly tunnels: Set<Tunnel>
  /** A number in [0, 1). */
  readonly draw: () => number
  readonly nextRequestId: () => string
  /** The current time for the field `date`. */
  readonly httpDate: () => string
  readonly backendFailed: (backend: string, reason: string, error: unknown) => void
  readonly rejected: (reason: ConnectionRejection) => void
  /** Undefined when the access log is off. */
  readonly logAccess: ((entry: AccessLogEntry) => void) | undefined
}

export class ExchangeContext {
  readonly core: ProxyCore
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly port: number
  readonly #table: () => RoutingTable

  constructor({ core, address, scheme, port, table }: ExchangeContextOptions) {
    this.core = core
    this.clientAddress = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
    this.scheme = scheme
    this.port = port
    this.#table = table
  }

  /** Of the current configuration. */
  get table(): RoutingTable {
    return this.#table()
  }

  isClientIn(cidrs: readonly string[]): boolean {
    const ip = parseIp(this.clientAddress)
    if (ip === undefined) return false
    const client = unmapIp(ip)
    return cidrs.some(text => {
      const cidr = cidrOf(text)
      return cidr !== undefined && cidrContains(cidr, client)
    })
  }
}

export interface ExchangeContextOptions {
  readonly core: ProxyCore
  /** Of the client. */
  readonly address: string
  readonly scheme: 'http' | 'https'
  readonly port: number
  readonly table: () => RoutingTable
}

/** Parsed ranges of allow lists, which are the same for many requests. */
const cidrs = new LruMap<string, Cidr>(1_000)

function cidrOf(text: string): Cidr | undefined {
  const known = cidrs.get(text)
  if (known !== undefined) return known
  const parsed = parseCidr(text)
  if (parsed !== undefined) cidrs.set(text, parsed)
  return parsed
}
