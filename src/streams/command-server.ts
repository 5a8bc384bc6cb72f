/**
 * Server side of exec and attach: turns a WebSocket or SPDY/3.1 client, with any protocol version, into a
 * `CommandClient`.
 */
import type { Clock } from '#/platform/platform.ts'
import { acceptSpdyCommand } from './command-server/spdy-client.ts'
import { acceptWebSocketCommand } from './command-server/web-socket-client.ts'
import type { CommandClient, CommandOptions } from './streams.ts'
import type { UpgradeExchange } from './upgrade-exchange.ts'
import { isWebSocketRequest } from './web-socket-handshake.ts'

export interface AcceptCommandOptions {
  readonly exchange: UpgradeExchange
  readonly options: CommandOptions
  readonly clock: Clock
  /** The connection is closed after this time without traffic. No limit if absent. */
  readonly idleTimeoutMs?: number
  /** Time for a SPDY client to open its streams; defaults to 30 s. */
  readonly streamCreationTimeoutMs?: number
}

/** Undefined if the client was refused or disconnected. The exchange is answered in any case. */
export async function acceptCommand(options: AcceptCommandOptions): Promise<CommandClient | undefined> {
  return isWebSocketRequest(options.exchange) ? acceptWebSocketCommand(options) : acceptSpdyCommand(options)
}

/** Streams requested from a kubelet (`input`, `output`, `error`, `tty`). Undefined if none. */
export function readCommandOptions(query: URLSearchParams): CommandOptions | undefined {
  const isSet = (name: string): boolean => query.get(name) === '1'
  const tty = isSet('tty')
  const [stdin, stdout, stderr] = [isSet('input'), isSet('output'), isSet('error') && !tty]
  return stdin || stdout || stderr ? { stdin, stdout, stderr, tty } : undefined
}
