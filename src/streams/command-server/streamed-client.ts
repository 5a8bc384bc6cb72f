import type { Channel } from '../connection/channel.ts'
import type { CommandProtocol } from '../command/protocols.ts'
import { resultStatus, resultText } from '../command/status.ts'
import { readTerminalSizes } from '../command/terminal-sizes.ts'
import type { CommandClient, CommandOptions, CommandResult, TerminalSize } from '../streams.ts'

/** Channels requested by the client. */
export interface CommandChannels {
  readonly error: Channel
  readonly stdin?: Channel | undefined
  readonly stdout?: Channel | undefined
  readonly stderr?: Channel | undefined
  readonly resize?: Channel | undefined
}

export interface StreamedClientOptions {
  readonly options: CommandOptions
  readonly channels: CommandChannels
  readonly protocol: CommandProtocol
  /** Resolves when the client is known to read; nothing is sent before. Immediately if absent. */
  readonly listening?: Promise<void>
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Closes the connection gracefully. */
  readonly close: () => Promise<void>
}

/** A client with one channel per stream, independent of the transport. */
export class StreamedClient implements CommandClient {
  readonly options: CommandOptions
  readonly signal: AbortSignal
  readonly stdin: AsyncIterable<Uint8Array>
  readonly sizes: AsyncIterable<TerminalSize>
  readonly #channels: CommandChannels
  readonly #protocol: CommandProtocol
  readonly #listening: Promise<void>
  readonly #close: () => Promise<void>
  #isFinished = false

  constructor({ options, channels, protocol, listening, signal, close }: StreamedClientOptions) {
    this.options = options
    this.signal = signal
    this.stdin = channels.stdin?.bytes() ?? nothing()
    this.sizes = channels.resize === undefined ? nothing() : readTerminalSizes(channels.resize.bytes())
    this.#channels = channels
    this.#protocol = protocol
    this.#listening = listening ?? Promise.resolve()
    this.#close = close
  }

  async writeStdout(bytes: Uint8Array): Promise<void> {
    await this.#listening
    await this.#channels.stdout?.send(bytes)
  }

  async writeStderr(bytes: Uint8Array): Promise<void> {
    await this.#listening
    await this.#channels.stderr?.send(bytes)
  }

  async finish(result: CommandResult): Promise<void> {
    if (this.#isFinished) return
    this.#isFinished = true
    await this.#listening
    const { error, stdout, stderr } = this.#channels
    const text = this.#protocol.end === 'status' ? resultStatus(result) : resultText(result)
    if (text !== '') await error.send(Buffer.from(text))
    await Promise.all([stdout?.sendAll(), stderr?.sendAll(), error.sendAll()])
    await this.#close()
  }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}
