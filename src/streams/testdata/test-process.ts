/** Process controlled by a test. */
import { AsyncQueue } from '../connection/async-queue.ts'
import type { CommandProcess, CommandResult, TerminalSize } from '../streams.ts'

export class TestProcess implements CommandProcess {
  readonly stdout = new AsyncQueue<Uint8Array>()
  readonly stderr = new AsyncQueue<Uint8Array>()
  readonly stdin = new AsyncQueue<Uint8Array>()
  readonly sizes: TerminalSize[] = []
  readonly disposed = Promise.withResolvers<void>()
  readonly #exited = Promise.withResolvers<CommandResult>()

  get result(): Promise<CommandResult> {
    return this.#exited.promise
  }

  async writeStdin(bytes: Uint8Array): Promise<void> {
    this.stdin.push(Uint8Array.from(bytes))
  }

  endStdin(): void {
    this.stdin.end()
  }

  resize(size: TerminalSize): void {
    this.sizes.push(size)
  }

  exit(result: CommandResult): void {
    this.stdout.end()
    this.stderr.end()
    this.#exited.resolve(result)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.exit({ type: 'failed', message: 'disposed' })
    this.disposed.resolve()
  }
}

/** Echoes stdin to stdout and writes to stderr at the end. */
export function echoProcess(result: CommandResult): TestProcess {
  const process = new TestProcess()
  void (async () => {
    for await (const bytes of process.stdin) process.stdout.push(bytes)
    process.stderr.push(Buffer.from('done'))
    process.exit(result)
  })()
  return process
}
