import type { Channel } from '../connection/channel.ts'
import type { SpdyConnection } from '../spdy.ts'
import type { CommandOptions, CommandProcess, CommandResult, TerminalSize } from '../streams.ts'
import { terminalSizeBytes } from './terminal-sizes.ts'

export interface ProcessChannels {
  readonly error: Channel
  readonly stdin: Channel | undefined
  readonly stdout: Channel | undefined
  readonly stderr: Channel | undefined
  readonly resize: Channel | undefined
}

export interface ChannelProcessOptions {
  readonly channels: ProcessChannels
  readonly readResult: (error: ErrorStream) => CommandResult
  /** Closes the connection. */
  readonly destroy: () => void
}

/** Client side of a command whose streams are channels of one connection. */
export class ChannelProcess implements CommandProcess {
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  readonly result: Promise<CommandResult>
  readonly #channels: ProcessChannels
  readonly #destroy: () => void
  /** Latest size not yet sent; earlier ones are obsolete. */
  #nextSize: TerminalSize | undefined
  #isSendingSize = false

  constructor({ channels, readResult, destroy }: ChannelProcessOptions) {
    this.#channels = channels
    this.#destroy = destroy
    this.stdout = channels.stdout?.bytes() ?? nothing()
    this.stderr = channels.stderr?.bytes() ?? nothing()
    // The server sends no data on these streams, only their end.
    channels.stdin?.resume()
    channels.resize?.resume()
    this.result = readErrorStream(channels.error).then(readResult)
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
    this.#destroy()
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

/** Opens the streams of a command in the order of Kubernetes' clients. */
export async function openProcessStreams(
  spdy: SpdyConnection,
  { stdin, stdout, stderr, tty }: CommandOptions,
  { hasResize }: { readonly hasResize: boolean },
): Promise<ProcessChannels> {
  const open = async (streamtype: string): Promise<Channel> => (await spdy.open({ streamtype })).channel
  return {
    error: await open('error'),
    stdin: stdin ? await open('stdin') : undefined,
    stdout: stdout ? await open('stdout') : undefined,
    stderr: stderr && !tty ? await open('stderr') : undefined,
    resize: tty && hasResize ? await open('resize') : undefined,
  }
}

/** What the server has sent on the error stream. */
export interface ErrorStream {
  readonly text: string
  /** Why the stream broke. */
  readonly failure?: Error
}

/** Limit of the error stream's content; the rest is dropped. */
const errorBytesMax = 1024 * 1024

async function readErrorStream(error: Channel): Promise<ErrorStream> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of error.bytes()) {
      sizeBytes += piece.length
      if (sizeBytes <= errorBytesMax) pieces.push(piece)
    }
  } catch (cause) {
    return { text: Buffer.concat(pieces).toString(), failure: cause as Error }
  }
  return { text: Buffer.concat(pieces).toString() }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
