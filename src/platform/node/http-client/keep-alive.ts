import type { ClientHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { HttpClientOptions } from '../../http-client.ts'

export interface Liveness {
  /** Reports the number of open streams. */
  inUse(streams: number): void
}

const standard = { intervalMs: 30_000, timeoutMs: 15_000 }

/** Idle timeout of a connection without streams. */
const idleMsMax = 90_000

/**
 * Pings a connection that has open streams but is silent, and destroys it if there is no answer. Otherwise a
 * network that drops packets would leave a watch waiting forever.
 */
export function keepAlive(
  session: ClientHttp2Session,
  socket: Socket,
  options: HttpClientOptions['keepalive'] = standard,
): Liveness {
  const { intervalMs, timeoutMs } = options
  let streams = 0
  let idleSince = performance.now()
  let bytesSeen = socket.bytesRead
  let deadline: NodeJS.Timeout | undefined
  const look = (): void => {
    if (session.destroyed || session.closed) return
    if (streams === 0) {
      if (performance.now() - idleSince >= idleMsMax) session.close()
      return
    }
    const isSilent = socket.bytesRead === bytesSeen
    bytesSeen = socket.bytesRead
    if (!isSilent || deadline !== undefined) return
    deadline = setTimeout(
      () => session.destroy(new Error(`no ping response within ${timeoutMs} ms`)),
      timeoutMs,
    ).unref()
    session.ping(() => {
      clearTimeout(deadline)
      deadline = undefined
      bytesSeen = socket.bytesRead
    })
  }
  const timer = setInterval(look, intervalMs).unref()
  session.once('close', () => {
    clearInterval(timer)
    clearTimeout(deadline)
  })
  return {
    inUse: count => {
      streams = count
      if (count === 0) idleSince = performance.now()
    },
  }
}
