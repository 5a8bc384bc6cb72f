import type { Platform } from '#/platform/platform.ts'
import type { ContentSource } from '../credentials.ts'

/** A file is reread after this time: the kubelet replaces a token long before it expires. */
const freshMs = 60_000

/** The content of a source; files are reread periodically. */
export class FileContent {
  readonly #platform: Platform
  readonly #source: ContentSource
  #content: Uint8Array | string | undefined
  #readMs = 0

  constructor(platform: Platform, source: ContentSource) {
    this.#platform = platform
    this.#source = source
  }

  /** Throws when the file has never been read successfully; later failures return the last content. */
  async read(): Promise<Uint8Array | string> {
    const source = this.#source
    if ('data' in source) return source.data
    const { clock, files, log } = this.#platform
    if (this.#content !== undefined && clock.monotonicMs() - this.#readMs < freshMs) return this.#content
    try {
      this.#content = await files.read(source.file)
    } catch (cause) {
      if (this.#content === undefined) throw new Error(`cannot read ${source.file}`, { cause })
      log.warn('Failed to reload credentials, using the last ones', { file: source.file, error: cause })
    }
    this.#readMs = clock.monotonicMs()
    return this.#content
  }

  /** Forces the next `read` to read the file. Returns true if the source is a file. */
  forget(): boolean {
    this.#readMs = -Infinity
    return 'file' in this.#source
  }
}
