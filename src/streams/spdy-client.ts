/** Opens a SPDY/3.1 connection to a URL with one of Kubernetes' subprotocols. */
import type { HttpConnect, HttpClientResponse } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { spdyUpgrade } from './spdy-handshake.ts'
import { SpdyConnection } from './spdy.ts'

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
  const { signal } = options
  const spdy = await upgradeToSpdy(options)
  const abort = (): void => spdy.destroy()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    signal?.throwIfAborted()
    return await open(spdy)
  } catch (error) {
    spdy.destroy()
    throw signal?.aborted ? signal.reason : error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

async function upgradeToSpdy(options: ConnectSpdyOptions): Promise<SpdyConnection> {
  const { connectHttp, clock, url, protocol, signal } = options
  const { origin, pathname, search } = new URL(url)
  await using client = connectHttp({ origin })
  const upgrade = await client.upgrade({
    method: 'POST',
    path: `${pathname}${search}`,
    headers: { 'upgrade': spdyUpgrade, 'x-stream-protocol-version': protocol, 'content-length': '0' },
    ...(signal !== undefined && { signal }),
  })
  if (upgrade.type === 'refused')
    throw new Error(`unable to upgrade connection: ${await reason(upgrade.response)}`)
  const { connection, head, headers } = upgrade
  const chosen = headers['x-stream-protocol-version']
  if (chosen !== protocol) {
    connection.destroy()
    throw new Error(
      `unsupported stream protocol: server selected ${chosen ?? 'none'}, client requires ${protocol}`,
    )
  }
  const spdy = new SpdyConnection({
    connection: new UpgradedConnection({ connection, head, clock }),
    clock,
    side: 'client',
  })
  void spdy.run()
  return spdy
}

/** Limit of the response body used in error messages. */
const reasonBytesMax = 4_096

async function reason({ status, body }: HttpClientResponse): Promise<string> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of body) {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes >= reasonBytesMax) break
    }
  } catch {
    // Uses what was received before.
  }
  const text = Buffer.concat(pieces).subarray(0, reasonBytesMax).toString().trim()
  return text === '' ? `status ${status}` : text
}
