import { ChunkedDecoder } from './chunked-decoder.ts'
import { unknownLength, untilClose, type BodyLength, type Fields } from './head.ts'

/** Finds the end of an HTTP/1.x body in the bytes of its connection. */
export class BodyReader {
  readonly #onData: (bytes: Uint8Array) => void
  readonly #chunked: ChunkedDecoder | undefined
  /** Of a body with a length; Infinity if it ends with the connection. */
  #remaining: number

  constructor(length: BodyLength, onData: (bytes: Uint8Array) => void) {
    this.#onData = onData
    this.#chunked = length === unknownLength ? new ChunkedDecoder(onData) : undefined
    this.#remaining = length === untilClose ? Infinity : Math.max(0, length)
  }

  get isDone(): boolean {
    return this.#chunked ? this.#chunked.isDone : this.#remaining === 0
  }

  /** The body ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#remaining === Infinity
  }

  get isMalformed(): boolean {
    return this.#chunked?.isMalformed ?? false
  }

  get trailers(): Fields {
    return this.#chunked?.trailers ?? []
  }

  /** Returns the number of bytes that belong to the body. */
  read(bytes: Uint8Array): number {
    if (this.#chunked) return this.#chunked.decode(bytes)
    const length = Math.min(this.#remaining, bytes.length)
    this.#remaining -= length
    if (length > 0) this.#onData(length === bytes.length ? bytes : bytes.subarray(0, length))
    return length
  }
}
