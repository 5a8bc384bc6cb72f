/**
 * Client side of exec and attach, towards a runtime's streaming server. Uses SPDY/3.1, which every runtime
 * supports and which can close stdin.
 */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { parseResult } from './command/status.ts'
import { terminalSizeBytes } from './command/terminal-sizes.ts'
import type { Channel } from './connection/channel.ts'
import { connectSpdy } from './spdy-client.ts'
import type { SpdyConnection } from './spdy.ts'
import type { CommandOptions, CommandProcess, CommandResult, TerminalSize } from './streams.ts'

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
  const { stdin, stdout, stderr, tty } = options.streams
  return connectSpdy({ ...options, protocol }, async spdy => {
    const open = async (streamtype: string, isWanted: boolean): Promise<Channel | undefined> =>
      isWanted ? (await spdy.open({ streamtype })).channel : undefined
    return new SpdyProcess(spdy, {
      error: (await open('error', true))!,
      stdin: await open('stdin', stdin),
      stdout: await open('stdout', stdout),
      stderr: await open('stderr', stderr && !tty),
      resize: await open('resize', tty),
    })
  })
}

interface ProcessChannels {
  readonly error: Channel
  readonly stdin: Channel | undefined
  readonly stdout: Channel | undefined
  readonly stderr: Channel | undefined
  readonly resize: Channel | undefined
}

class SpdyProcess implements CommandProcess {
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  readonly result: Promise<CommandResult>
  readonly #spdy: SpdyConnection
  readonly #channels: ProcessChannels
  /** Latest size not yet sent; earlier ones are obsolete. */
  #nextSize: TerminalSize | undefined
  #isSendingSize = false

  constructor(spdy: SpdyConnection, channels: ProcessChannels) {
    this.#spdy = spdy
    this.#channels = channels
    this.stdout = channels.stdout?.bytes() ?? nothing()
    this.stderr = channels.stderr?.bytes() ?? nothing()
    // The server sends no data on these streams, only their end.
    channels.stdin?.resume()
    channels.resize?.resume()
    this.result = readResult(channels.error)
  }

  async writeStdin(bytes: Uint8Array): Promise<void> {
    await this.#channels.stdin?.send(bytes)
  }

  endStdin(): void {
    this.#channels.stdin?.end()
  }

  resize(size: TerminalSize): void {
    this.#nextSize = size
    if (!this.#isSendingSize) void this.#sendSizes()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#spdy.destroy()
  }

  async #sendSizes(): Promise<void> {
    this.#isSendingSize = true
    while (this.#nextSize !== undefined) {
      const bytes = terminalSizeBytes(this.#nextSize)
      this.#nextSize = undefined
      await this.#channels.resize?.send(bytes)
    }
    this.#isSendingSize = false
  }
}

/** Limit of the error stream's content; the rest is dropped. */
const resultBytesMax = 1024 * 1024

async function readResult(error: Channel): Promise<CommandResult> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of error.bytes()) {
      sizeBytes += piece.length
      if (sizeBytes <= resultBytesMax) pieces.push(piece)
    }
  } catch (cause) {
    if (sizeBytes === 0)
      return { type: 'failed', message: `the connection to the process broke: ${(cause as Error).message}` }
  }
  return parseResult(Buffer.concat(pieces).toString())
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
