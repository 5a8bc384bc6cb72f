import type { AppendFile, Files } from '#/platform/platform.ts'

/**
 * A log file of bounded size: when full it is renamed to `.old`, replacing the previous one. The tail is kept
 * in memory for error messages. Write errors lose lines but stop nothing.
 */
export class BoundedLog implements AsyncDisposable {
  readonly #files: Files
  readonly #path: string
  #file: AppendFile | undefined
  #sizeBytes = 0
  #tail = ''
  /** The write in progress. */
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(files: Files, path: string) {
    this.#files = files
    this.#path = path
  }

  get tail(): string {
    return this.#tail
  }

  forgetTail(): void {
    this.#tail = ''
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#tail = (this.#tail + Buffer.from(bytes).toString()).slice(-tailCharacters)
    if (this.#isClosed) return
    this.#writing = this.#writing.then(() => this.#write(bytes)).catch(() => this.#close())
    await this.#writing
  }

  /** Later lines are kept in memory only. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await this.#close()
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#file === undefined) {
      this.#sizeBytes = (await this.#files.stat(this.#path))?.sizeBytes ?? 0
      this.#file = await this.#files.openAppend(this.#path, { mode: 0o600 })
    }
    if (this.#sizeBytes + bytes.length > sizeBytesMax && this.#sizeBytes > 0) {
      await this.#close()
      await this.#files.rename(this.#path, `${this.#path}.old`)
      return this.#write(bytes)
    }
    await this.#file.append(bytes)
    this.#sizeBytes += bytes.length
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    try {
      await file?.[Symbol.asyncDispose]()
    } catch {
      // Unwritten lines are lost.
    }
  }
}

/** Limit for each of the two files. */
const sizeBytesMax = 4 * 1_024 * 1_024

const tailCharacters = 4_000
