import type { Duplex } from 'node:stream'
import { LinkedAbort } from '#/base/abort.ts'
import type { Platform } from '#/platform/platform.ts'
import { parseDnsMessage, serializeDnsMessage, tcpBytesMax, type DnsMessage } from '../dns-message.ts'
import { framed, FrameReader } from './tcp-frames.ts'
import type { Server } from './upstream-servers.ts'

export type Transport = 'udp' | 'tcp'

export interface ExchangeOptions {
  readonly platform: Platform
  readonly server: Server
  readonly transport: Transport
  /**
   * The id is replaced by a random one, and the source port is ephemeral, so that responses are hard to
   * spoof.
   */
  readonly query: DnsMessage
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Undefined on timeout, on a connection error, or when the response is invalid. */
export async function exchange(options: ExchangeOptions): Promise<DnsMessage | undefined> {
  const { platform, transport, timeoutMs, signal } = options
  const id = platform.random.integer('dns query', 65_536)
  const query = { ...options.query, id }
  using deadline = new LinkedAbort(signal)
  const timer = platform.clock.setTimer(timeoutMs, () =>
    deadline.abort(new Error('no response within the timeout')),
  )
  try {
    const send = transport === 'udp' ? queryUdp : queryTcp
    return await send({ ...options, query, signal: deadline.signal })
  } catch {
    // The caller tries the next server.
    return undefined
  } finally {
    timer.cancel()
  }
}

async function queryUdp({
  platform,
  server,
  query,
  signal,
}: ExchangeOptions): Promise<DnsMessage | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<DnsMessage>()
  const host = server.host.includes(':') ? '::' : '0.0.0.0'
  await using socket = await platform.network.bindDatagram({ host, port: 0 }, (bytes, from) => {
    const isServer = 'port' in from && from.port === server.port && isSameHost(from.host, server.host)
    const answer = isServer ? parseDnsMessage(bytes) : undefined
    // Spoofed or unrelated responses are ignored: the real one may still arrive.
    if (answer && isAnswerTo(query, answer)) resolve(answer)
  })
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  socket.send(serializeDnsMessage(query, tcpBytesMax), server)
  return await promise.finally(() => signal.removeEventListener('abort', abort))
}

async function queryTcp({
  platform,
  server,
  query,
  signal,
}: ExchangeOptions): Promise<DnsMessage | undefined> {
  const connection = await platform.network.connect(server, signal)
  const abort = (): void => void connection.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    connection.write(framed(serializeDnsMessage(query, tcpBytesMax)))
    const bytes = await firstFrame(connection)
    const answer = bytes && parseDnsMessage(bytes)
    return answer && isAnswerTo(query, answer) ? answer : undefined
  } finally {
    signal.removeEventListener('abort', abort)
    connection.destroy()
  }
}

async function firstFrame(connection: Duplex): Promise<Uint8Array | undefined> {
  const frames = new FrameReader()
  for await (const bytes of connection as AsyncIterable<Uint8Array>) {
    const [frame] = frames.push(bytes)
    if (frame) return frame
  }
  return undefined
}

function isAnswerTo(query: DnsMessage, answer: DnsMessage): boolean {
  const [asked, answered] = [query.questions[0], answer.questions[0]]
  if (!answer.isResponse || answer.id !== query.id || !asked || !answered) return false
  const isSameName = asked.name.toLowerCase() === answered.name.toLowerCase()
  return isSameName && asked.type === answered.type && asked.class === answered.class
}

/** Source addresses of responses have no zone (`%eth0`). */
function isSameHost(from: string, server: string): boolean {
  return from.replace(/%.*$/, '') === server.replace(/%.*$/, '')
}
