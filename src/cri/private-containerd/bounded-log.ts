import type { AppendFile, Files } from '#/platform/platform.ts'

/**
 * A log file with a bound: once it is full it becomes the older one, in place of the one before. The last words are
 * kept in memory, for people who are told why a program ended. A disk that is full loses lines and stops nothing.
 */
export class BoundedLog implements AsyncDisposable {
  readonly #files: Files
  readonly #path: string
  #file: AppendFile | undefined
  #sizeBytes = 0
  #tail = ''
  /** What is under way. */
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(files: Files, path: string) {
    this.#files = files
    this.#path = path
  }

  /** The last lines. */
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

  /** What comes later is kept in memory only. */
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
      // What could not be written is lost.
    }
  }
}

/** Of each of the two files. */
const sizeBytesMax = 4 * 1_024 * 1_024

const tailCharacters = 4_000
