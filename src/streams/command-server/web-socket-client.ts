import type { Clock } from '#/platform/platform.ts'
import { UpgradedConnection } from '../connection/upgraded-connection.ts'
import { channelNumbers as numbers, webSocketProtocols } from '../command/protocols.ts'
import type { AcceptCommandOptions } from '../command-server.ts'
import type { CommandClient } from '../streams.ts'
import { acceptWebSocket } from '../web-socket-handshake.ts'
import { WebSocketChannels } from '../web-socket/channels.ts'
import { WebSocket } from '../web-socket.ts'
import { StreamedClient } from './streamed-client.ts'

export function acceptWebSocketCommand({
  exchange,
  options,
  clock,
  idleTimeoutMs,
}: AcceptCommandOptions): CommandClient | undefined {
  const names = webSocketProtocols.map(({ name }) => name)
  const accepted = acceptWebSocket(exchange, names)
  if (accepted === undefined) return undefined
  const protocol = webSocketProtocols.find(({ name }) => name === accepted.protocol)!
  const { connection, head } = accepted
  const socket = new WebSocket({
    connection: new UpgradedConnection({ connection, head, clock, ...(idleTimeoutMs && { idleTimeoutMs }) }),
  })
  const channels = new WebSocketChannels({ socket, ...protocol, count: Object.keys(numbers).length })
  const gone = new AbortController()
  const at = (
    name: keyof typeof numbers,
    isWanted: boolean,
  ): ReturnType<WebSocketChannels['at']> | undefined => {
    const channel = channels.at(numbers[name])
    if (isWanted) return channel
    channel.resume()
    return undefined
  }
  const error = channels.at(numbers.error)
  const used = {
    error,
    stdin: at('stdin', options.stdin),
    stdout: at('stdout', options.stdout),
    stderr: at('stderr', options.stderr),
    resize: at('resize', options.tty),
  }
  // Discards data sent on channels that the client should only read.
  for (const channel of [error, used.stdout, used.stderr]) channel?.resume()
  void channels.run().finally(() => gone.abort(new Error('client disconnected')))
  // Clients of v5 drop data received before they have created their streams, which is when they start
  // reading. Older clients expect an empty first message.
  const listening = protocol.hasHalfClose ? untilHeard(socket, clock) : Promise.resolve()
  if (!protocol.hasHalfClose)
    void channels.sendReady(options.stdout ? numbers.stdout : options.stderr ? numbers.stderr : numbers.error)
  return new StreamedClient({
    options,
    channels: used,
    protocol,
    listening,
    signal: gone.signal,
    close: async () => {
      used.stdin?.destroy()
      used.resize?.destroy()
      await socket.close()
    },
  })
}

/** Time to wait for a client that does not answer pings. */
const listeningMs = 1_000

async function untilHeard(socket: WebSocket, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimer(listeningMs, resolve)
  const gone = (): void => resolve()
  if (socket.signal.aborted) gone()
  socket.signal.addEventListener('abort', gone, { once: true })
  void socket.ping()
  await Promise.race([socket.peerHasSent, promise])
  timer.cancel()
  socket.signal.removeEventListener('abort', gone)
}
