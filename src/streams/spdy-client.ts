/** Opens a SPDY/3.1 connection to a server with one of Kubernetes' subprotocols. */
import { offAbort, onAbort } from '#/base/abort.ts'
import type { HttpClient, HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { spdyUpgrade } from './spdy-handshake.ts'
import { SpdyConnection } from './spdy.ts'
import { readRefusal } from './upgrade-refused-error.ts'

export interface ConnectSpdyOptions {
  readonly connectHttp: HttpConnect
  readonly clock: Clock
  readonly url: string
  readonly protocol: string
  readonly signal?: AbortSignal
}

/**
 * Connects and opens streams. Rejects if the server is unreachable or refuses, or if aborted before the
 * streams are open.
 */
export async function connectSpdy<T>(
  options: ConnectSpdyOptions,
  open: (spdy: SpdyConnection) => Promise<T>,
): Promise<T> {
  const { connectHttp, url, protocol } = options
  const { origin, pathname, search } = new URL(url)
  await using http = connectHttp({ origin })
  return await openSpdy({ ...options, http, path: `${pathname}${search}`, protocols: [protocol] }, open)
}

/** What an upgrade needs with every protocol. */
export interface UpgradeOptions {
  readonly http: Pick<HttpClient, 'upgrade'>
  readonly clock: Clock
  /** Including the query. */
  readonly path: string
  /** Credentials, with lower-case names. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Cancels connecting. */
  readonly signal?: AbortSignal
}

export interface OpenSpdyOptions extends UpgradeOptions {
  /** In order of preference. */
  readonly protocols: readonly string[]
  /** The protocol of servers that do not name the one that they have selected. */
  readonly usualProtocol?: string
  readonly pingIntervalMs?: number
}

/** As `connectSpdy`, with a client for the server. Rejects with UpgradeRefusedError if the server refuses. */
export async function openSpdy<T>(
  options: OpenSpdyOptions,
  open: (spdy: SpdyConnection, protocol: string) => Promise<T>,
): Promise<T> {
  const { signal } = options
  const { spdy, protocol } = await upgradeToSpdy(options)
  const abort = (): void => spdy.destroy()
  if (signal) onAbort(signal, abort)
  try {
    signal?.throwIfAborted()
    return await open(spdy, protocol)
  } catch (error) {
    spdy.destroy()
    throw signal?.aborted ? signal.reason : error
  } finally {
    if (signal) offAbort(signal, abort)
  }
}

async function upgradeToSpdy({
  http,
  clock,
  path,
  headers: given,
  signal,
  protocols,
  usualProtocol,
  pingIntervalMs,
}: OpenSpdyOptions): Promise<{ readonly spdy: SpdyConnection; readonly protocol: string }> {
  const upgrade = await http.upgrade({
    method: 'POST',
    path,
    headers: {
      ...given,
      'upgrade': spdyUpgrade,
      'x-stream-protocol-version': protocols,
      'content-length': '0',
    },
    ...(signal !== undefined && { signal }),
  })
  if (upgrade.type === 'refused') throw await readRefusal(upgrade.response)
  const { connection, head, headers } = upgrade
  const protocol = headers['x-stream-protocol-version'] ?? usualProtocol
  if (protocol === undefined || !(protocols.includes(protocol) || protocol === usualProtocol)) {
    connection.destroy()
    throw new Error(
      `unsupported stream protocol: server selected ${protocol ?? 'none'}, client requires ${protocols.join(' ')}`,
    )
  }
  const spdy = new SpdyConnection({
    connection: new UpgradedConnection({ connection, head, clock }),
    clock,
    side: 'client',
    ...(pingIntervalMs !== undefined && { pingIntervalMs }),
  })
  void spdy.run()
  return { spdy, protocol }
}
