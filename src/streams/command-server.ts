/**
 * The server's end of remote commands (exec, attach): a client that asks for a WebSocket or for SPDY/3.1 becomes a
 * `CommandClient`, whichever version of the protocol it speaks.
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
  /** A connection on which nothing was sent either way for so long is closed. Never when absent. */
  readonly idleTimeoutMs?: number
  /** How long a client of SPDY may take to open its streams: half a minute when absent. */
  readonly streamCreationTimeoutMs?: number
}

/** Undefined when the client was refused, which it has been told, or went away. Answers the exchange in any case. */
export async function acceptCommand(options: AcceptCommandOptions): Promise<CommandClient | undefined> {
  return isWebSocketRequest(options.exchange) ? acceptWebSocketCommand(options) : acceptSpdyCommand(options)
}

/** The streams that a request to a kubelet asks for (`input`, `output`, `error`, `tty`). Undefined when none. */
export function readCommandOptions(query: URLSearchParams): CommandOptions | undefined {
  const isSet = (name: string): boolean => query.get(name) === '1'
  const tty = isSet('tty')
  const [stdin, stdout, stderr] = [isSet('input'), isSet('output'), isSet('error') && !tty]
  return stdin || stdout || stderr ? { stdin, stdout, stderr, tty } : undefined
}
