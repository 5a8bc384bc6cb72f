/**
 * Client side of exec and attach, towards an API server: over WebSocket, or over SPDY/3.1 if the server or a proxy
 * before it does not upgrade to WebSocket.
 */
import type { Random } from '#/platform/platform.ts'
import { ChannelProcess, openProcessStreams, type ErrorStream } from './command/channel-process.ts'
import { channelNumbers, spdyProtocols, webSocketProtocols } from './command/protocols.ts'
import { parseResult } from './command/status.ts'
import type { Channel } from './connection/channel.ts'
import { openSpdy, type UpgradeOptions } from './spdy-client.ts'
import type { CommandOptions, CommandProcess, CommandResult } from './streams.ts'
import { UpgradeRefusedError } from './upgrade-refused-error.ts'
import { openWebSocket } from './web-socket-client.ts'
import { WebSocketChannels } from './web-socket/channels.ts'
import type { CloseFrame } from './web-socket.ts'

export interface ConnectRemoteCommandOptions extends UpgradeOptions {
  readonly random: Random
  /** As requested by the query of the path. */
  readonly streams: CommandOptions
  /** Uses only SPDY when false. */
  readonly webSocket?: boolean
}

/**
 * Rejects with UpgradeRefusedError if the server refuses both protocols, with the answer to the second request.
 * Disposing the process ends the session.
 */
export async function connectRemoteCommand(options: ConnectRemoteCommandOptions): Promise<CommandProcess> {
  if (options.webSocket === false) return connectBySpdy(options)
  try {
    return await connectByWebSocket(options)
  } catch (error) {
    if (error instanceof UpgradeRefusedError) return connectBySpdy(options)
    throw error
  }
}

/** The only version over WebSocket in which stdin can be closed. */
const protocol = webSocketProtocols.find(({ hasHalfClose }) => hasHalfClose)!

const pingIntervalMs = 5_000
const pongTimeoutMs = 61_000

async function connectByWebSocket(options: ConnectRemoteCommandOptions): Promise<CommandProcess> {
  const { clock, streams } = options
  const heartbeat = { clock, intervalMs: pingIntervalMs, timeoutMs: pongTimeoutMs }
  const socket = await openWebSocket({ ...options, protocol: protocol.name, heartbeat })
  const count = Object.keys(channelNumbers).length
  const channels = new WebSocketChannels({ socket, ...protocol, sendsHalfClose: true, count })
  const at = (name: keyof typeof channelNumbers, isWanted: boolean): Channel | undefined => {
    const channel = channels.at(channelNumbers[name])
    if (isWanted) return channel
    // Data on it is not expected, and must not fill the window of the others.
    channel.resume()
    return undefined
  }
  const { stdin, stdout, stderr, tty } = streams
  const process = new ChannelProcess({
    channels: {
      error: channels.at(channelNumbers.error),
      stdin: at('stdin', stdin),
      stdout: at('stdout', stdout),
      stderr: at('stderr', stderr && !tty),
      resize: at('resize', tty),
    },
    readResult: ({ text, failure = closeFailure(socket.closeFrame) }) =>
      readStatus({ text, ...(failure && { failure: new Error(`next reader: ${failure.message}`) }) }),
    destroy: () => socket.destroy(),
  })
  void channels.run()
  return process
}

async function connectBySpdy(options: ConnectRemoteCommandOptions): Promise<CommandProcess> {
  // A server may answer with v5, which differs from v4 over WebSocket only.
  const protocols = [protocol.name, ...spdyProtocols.map(({ name }) => name)]
  const usualProtocol = protocols.at(-1)!
  return openSpdy({ ...options, protocols, usualProtocol, pingIntervalMs }, async (spdy, name) => {
    const version = spdyProtocols.find(each => each.name === name) ?? protocol
    const channels = await openProcessStreams(spdy, options.streams, version)
    const readResult = version.end === 'status' ? readStatus : readText
    return new ChannelProcess({ channels, readResult, destroy: () => spdy.destroy() })
  })
}

/** Without a status the command has succeeded, as for all clients of Kubernetes. */
function readStatus({ text, failure }: ErrorStream): CommandResult {
  if (failure === undefined && text === '') return { type: 'exited', code: 0 }
  const result = parseResult(text)
  // What was received before the connection broke counts only if it is a whole Status.
  const isStatus = result.type === 'exited' || (text !== '' && result.message !== text)
  if (failure === undefined || isStatus) return result
  return { type: 'failed', message: `error reading from error stream: ${failure.message}` }
}

function readText({ text, failure }: ErrorStream): CommandResult {
  if (text !== '') return { type: 'failed', message: `error executing remote command: ${text}` }
  if (failure === undefined) return { type: 'exited', code: 0 }
  return readStatus({ text, failure })
}

const closeNames: Readonly<Record<number, string>> = {
  1001: 'going away',
  1002: 'protocol error',
  1003: 'unsupported data',
  1005: 'no status',
  1007: 'invalid payload data',
  1008: 'policy violation',
  1009: 'message too big',
  1010: 'mandatory extension missing',
  1011: 'internal server error',
}

/** Undefined for a normal closure. */
function closeFailure(frame: CloseFrame | undefined): Error | undefined {
  if (frame === undefined || frame.code === 1000) return undefined
  const name = closeNames[frame.code]
  const detail = `${name === undefined ? '' : ` (${name})`}${frame.reason === '' ? '' : `: ${frame.reason}`}`
  return new Error(`websocket: close ${frame.code}${detail}`)
}
