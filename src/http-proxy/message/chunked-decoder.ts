import type { Fields } from './head.ts'
import { parseTrailers } from './parse-head.ts'

type State =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailers'
  | 'done'
  | 'malformed'

/**
 * Decodes a chunked body (RFC 9112, section 7.1), strictly: a chunk size has only hexadecimal digits, and
 * lines end with CR LF. Extensions are read and dropped.
 */
export class ChunkedDecoder {
  readonly #onData: (bytes: Uint8Array) => void
  #state: State = 'size'
  /** Of the size so far, then of the chunk. */
  #remaining = 0
  #digits = 0
  #extensionBytes = 0
  #trailerText = ''
  trailers: Fields = []

  constructor(onData: (bytes: Uint8Array) => void) {
    this.#onData = onData
  }

  get isDone(): boolean {
    return this.#state === 'done'
  }

  get isMalformed(): boolean {
    return this.#state === 'malformed'
  }

  /** Returns the number of bytes used: less than all after the end of the body. */
  decode(bytes: Uint8Array): number {
    let at = 0
    while (at < bytes.length && this.#state !== 'done' && this.#state !== 'malformed') {
      if (this.#state === 'data') at += this.#takeData(bytes, at)
      else if (this.#state === 'trailers') at += this.#takeTrailers(bytes, at)
      else this.#state = this.#afterByte(bytes[at++]!)
    }
    return at
  }

  #afterByte(byte: number): State {
    switch (this.#state) {
      case 'size':
        return this.#afterSizeByte(byte)
      case 'extension':
        if (byte === cr) return 'size-lf'
        this.#extensionBytes++
        return this.#extensionBytes > extensionBytesMax || (byte < 0x20 && byte !== tab) || byte === 0x7f
          ? 'malformed'
          : 'extension'
      case 'size-lf':
        if (byte !== lf) return 'malformed'
        this.#digits = 0
        return this.#remaining === 0 ? 'trailers' : 'data'
      case 'data-cr':
        return byte === cr ? 'data-lf' : 'malformed'
      case 'data-lf':
        return byte === lf ? 'size' : 'malformed'
      case 'data':
      case 'trailers':
      case 'done':
      case 'malformed':
        return this.#state
    }
  }

  #afterSizeByte(byte: number): State {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      this.#remaining = this.#remaining * 16 + digit
      this.#digits++
      return this.#digits > digitsMax ? 'malformed' : 'size'
    }
    if (this.#digits === 0) return 'malformed'
    if (byte === cr) return 'size-lf'
    return byte === semicolon ? 'extension' : 'malformed'
  }

  #takeData(bytes: Uint8Array, at: number): number {
    const length = Math.min(this.#remaining, bytes.length - at)
    this.#remaining -= length
    if (this.#remaining === 0) this.#state = 'data-cr'
    this.#onData(at === 0 && length === bytes.length ? bytes : bytes.subarray(at, at + length))
    return length
  }

  #takeTrailers(bytes: Uint8Array, at: number): number {
    const before = this.#trailerText.length
    const taken = bytes.subarray(at, at + trailerBytesMax + 1)
    const text =
      this.#trailerText + Buffer.from(taken.buffer, taken.byteOffset, taken.length).toString('latin1')
    const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n')
    if (end === -1) {
      this.#trailerText = text
      if (text.length > trailerBytesMax) this.#state = 'malformed'
      return taken.length
    }
    const trailers = end === 0 ? [] : parseTrailers(text.slice(0, end + 2))
    if (trailers === undefined) this.#state = 'malformed'
    else {
      this.trailers = trailers
      this.#state = 'done'
    }
    return end + (end === 0 ? 2 : 4) - before
  }
}

const cr = 0x0d
const lf = 0x0a
const tab = 0x09
const semicolon = 0x3b

/** Sizes stay exact integers. */
const digitsMax = 12

/** All extensions of a body together. */
const extensionBytesMax = 4_096

const trailerBytesMax = 8_192

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
