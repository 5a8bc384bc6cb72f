import type { Channel } from '../connection/channel.ts'
import { UpgradedConnection } from '../connection/upgraded-connection.ts'
import { spdyProtocols, type CommandProtocol } from '../command/protocols.ts'
import type { AcceptCommandOptions } from '../command-server.ts'
import { acceptSpdy } from '../spdy-handshake.ts'
import { SpdyConnection, type SpdyStream } from '../spdy.ts'
import type { CommandClient, CommandOptions } from '../streams.ts'
import { StreamedClient } from './streamed-client.ts'

const streamCreationTimeoutMsUsual = 30_000

const streamTypes = ['error', 'stdin', 'stdout', 'stderr', 'resize'] as const
type StreamType = (typeof streamTypes)[number]

/** The client opens the streams in any order; the session starts when all are open. */
export async function acceptSpdyCommand(accepting: AcceptCommandOptions): Promise<CommandClient | undefined> {
  const { exchange, options, clock, idleTimeoutMs } = accepting
  const names = spdyProtocols.map(({ name }) => name)
  const accepted = acceptSpdy(exchange, names)
  if (accepted === undefined) return undefined
  const protocol = spdyProtocols.find(({ name }) => name === accepted.protocol)!
  const { connection, head } = accepted
  const upgraded = new UpgradedConnection({
    connection,
    head,
    clock,
    ...(idleTimeoutMs && { idleTimeoutMs }),
  })
  const expected = expectedStreams(options, protocol)
  const channels = new Map<StreamType, Channel>()
  const complete = Promise.withResolvers<boolean>()
  const onStream = ({ headers, channel }: SpdyStream): boolean => {
    const type = streamTypes.find(each => each === headers['streamtype'])
    if (type === undefined || channels.has(type)) return false
    channels.set(type, channel)
    // Discards data on streams that the client should only read, and on streams that were not requested.
    if (type !== 'stdin' && type !== 'resize') channel.resume()
    if (!expected.includes(type)) channel.resume()
    if (expected.every(each => channels.has(each))) complete.resolve(true)
    return true
  }
  const spdy = new SpdyConnection({ connection: upgraded, clock, side: 'server', onStream })
  const gone = new AbortController()
  void spdy.run().finally(() => {
    gone.abort(new Error('client disconnected'))
    complete.resolve(false)
  })
  const limitMs = accepting.streamCreationTimeoutMs ?? streamCreationTimeoutMsUsual
  const timer = clock.setTimer(limitMs, () => complete.resolve(false))
  const isComplete = await complete.promise
  timer.cancel()
  if (!isComplete) {
    spdy.destroy()
    return undefined
  }
  const { error, ...others } = Object.fromEntries(expected.map(type => [type, channels.get(type)!]))
  const signal = gone.signal
  return new StreamedClient({
    options,
    channels: { ...others, error: error! },
    protocol,
    signal,
    close: () => spdy.close(),
  })
}

function expectedStreams(
  { stdin, stdout, stderr, tty }: CommandOptions,
  protocol: CommandProtocol,
): StreamType[] {
  return streamTypes.filter(
    type => ({ error: true, stdin, stdout, stderr, resize: tty && protocol.hasResize })[type],
  )
}
