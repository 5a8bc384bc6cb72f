import type { InputStream, OutputStream } from '../../io-streams.ts'
import { isTerminal, withoutEcho } from './terminal-mode.ts'

/** Maximum length of a line. */
const lineBytesMax = 1024 * 1024

/**
 * Reads only on demand: between two calls the input belongs to the programs that this process runs. The stream of Node
 * is created by the first read, because that changes the mode of a pipe.
 */
export class StandardInput implements InputStream {
  readonly #stdout: Pick<OutputStream, 'write'>
  /** Follows the line that was read last. */
  #unread: Uint8Array | undefined

  constructor(stdout: Pick<OutputStream, 'write'>) {
    this.#stdout = stdout
  }

  get isTerminal(): boolean {
    return isTerminal(0)
  }

  async *bytes(signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const piece = await this.#read(signal)
      if (piece === undefined) return
      yield piece
    }
  }

  async readLine(
    options: { readonly prompt?: string; readonly echo?: boolean } = {},
  ): Promise<string | undefined> {
    using _ = options.echo === false ? withoutEcho() : undefined
    if (options.prompt !== undefined) this.#stdout.write(options.prompt)
    let line = Buffer.alloc(0)
    for (;;) {
      const piece = await this.#read()
      if (piece === undefined) return line.length === 0 ? undefined : line.toString()
      const end = piece.indexOf(lineFeed)
      line = Buffer.concat([line, end < 0 ? piece : piece.subarray(0, end)])
      if (line.length > lineBytesMax)
        throw new Error(`a line of the standard input exceeds ${lineBytesMax} bytes`)
      if (end < 0) continue
      if (end + 1 < piece.length) this.#unread = piece.subarray(end + 1)
      return line.toString().replace(/\r$/, '')
    }
  }

  /** Undefined at the end of the input, or when aborted. */
  async #read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const piece = this.#unread
    this.#unread = undefined
    return piece ?? readPiece(signal)
  }
}

const lineFeed = 10

function readPiece(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
  const { stdin } = process
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>()
  const settle = (): void => {
    stdin.pause()
    stdin.off('data', take).off('end', end).off('close', end).off('error', fail)
    signal?.removeEventListener('abort', end)
  }
  const take = (piece: Uint8Array): void => {
    settle()
    resolve(piece)
  }
  const end = (): void => {
    settle()
    resolve(undefined)
  }
  const fail = (error: Error): void => {
    settle()
    reject(error)
  }
  if (signal?.aborted || stdin.readableEnded || stdin.destroyed) {
    resolve(undefined)
    return promise
  }
  stdin.on('data', take).on('end', end).on('close', end).on('error', fail)
  signal?.addEventListener('abort', end, { once: true })
  stdin.resume()
  return promise
}
