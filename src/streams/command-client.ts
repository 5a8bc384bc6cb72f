/**
 * Client side of exec and attach, towards a runtime's streaming server. Uses SPDY/3.1, which every runtime
 * supports and which can close stdin.
 */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { ChannelProcess, openProcessStreams, type ErrorStream } from './command/channel-process.ts'
import { parseResult } from './command/status.ts'
import { connectSpdy } from './spdy-client.ts'
import type { CommandOptions, CommandProcess, CommandResult } from './streams.ts'

export interface ConnectCommandOptions {
  readonly connectHttp: HttpConnect
  readonly clock: Clock
  /** Session URL returned by the runtime. */
  readonly url: string
  /** As requested when the runtime returned the URL. */
  readonly streams: CommandOptions
  /** Cancels connecting. Disposing the process ends it. */
  readonly signal?: AbortSignal
}

/** The protocol version with exit codes, supported by all runtimes with a streaming server. */
const protocol = 'v4.channel.k8s.io'

/** Rejects if the server is unreachable or refuses. */
export async function connectCommand(options: ConnectCommandOptions): Promise<CommandProcess> {
  return connectSpdy({ ...options, protocol }, async spdy => {
    const channels = await openProcessStreams(spdy, options.streams, { hasResize: true })
    return new ChannelProcess({ channels, readResult, destroy: () => spdy.destroy() })
  })
}

function readResult({ text, failure }: ErrorStream): CommandResult {
  if (failure !== undefined && text === '')
    return { type: 'failed', message: `the connection to the process broke: ${failure.message}` }
  return parseResult(text)
}
