import type { CommandOptions, CommandProcess, CommandResult, TerminalSize } from '#/streams/streams.ts'
import { ByteStream } from './byte-stream.ts'
import type { CommandRun } from './command-run.ts'

/** Client handle of a process in a simulated container. */
export class SimulatedProcess implements CommandProcess {
  readonly stdout = new ByteStream()
  readonly stderr = new ByteStream()
  readonly result: Promise<CommandResult>
  readonly #options: CommandOptions
  readonly #onDispose: () => void
  readonly #resolve: (result: CommandResult) => void
  #run: CommandRun | undefined
  /** Last terminal size received. */
  size: TerminalSize | undefined

  constructor(options: CommandOptions, onDispose: () => void) {
    const { promise, resolve } = Promise.withResolvers<CommandResult>()
    this.result = promise
    this.#resolve = resolve
    this.#options = options
    this.#onDispose = onDispose
  }

  /** Sets the target of stdin. */
  connect(run: CommandRun | undefined): void {
    this.#run = run
  }

  async print(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    const { stdout, stderr, tty } = this.#options
    const target = tty ? 'stdout' : stream
    if (target === 'stdout' ? stdout : stderr) await this[target].write(bytes)
  }

  finish(result: CommandResult): void {
    this.stdout.end()
    this.stderr.end()
    this.#resolve(result)
  }

  async writeStdin(bytes: Uint8Array): Promise<void> {
    if (this.#options.stdin) await this.#run?.write(bytes)
  }

  endStdin(): void {
    this.#run?.endInput()
  }

  resize(size: TerminalSize): void {
    this.size = size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stdout.abandon()
    this.stderr.abandon()
    this.#onDispose()
  }
}
