import { DecodeError } from '../decoding/decode-error.ts'
import { lengthBytes } from './watch-event.ts'

/** Maximum size of a watch event that a client accepts; far more than any object that can be stored. */
export const frameBytesMax = 16 * 1024 * 1024

/** Splits the byte stream of a watch into event messages, independent of chunk boundaries. */
export class WatchFrames {
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** Number of buffered bytes needed before the next frame can be parsed. */
  #wantedBytes = lengthBytes

  /**
   * The messages that are complete. Throws DecodeError if one is too large; the stream cannot be continued
   * then.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    if (chunk.length > 0) this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    if (this.#pendingBytes < this.#wantedBytes) return []
    const bytes = Buffer.concat(this.#pending)
    const messages: Uint8Array[] = []
    let position = 0
    for (;;) {
      const leftBytes = bytes.length - position
      this.#wantedBytes = lengthBytes
      if (leftBytes >= lengthBytes) this.#wantedBytes += checkedLength(bytes.readUInt32BE(position))
      if (leftBytes < this.#wantedBytes) break
      messages.push(bytes.subarray(position + lengthBytes, position + this.#wantedBytes))
      position += this.#wantedBytes
    }
    const rest = bytes.subarray(position)
    this.#pending = rest.length === 0 ? [] : [rest]
    this.#pendingBytes = rest.length
    return messages
  }
}

function checkedLength(sizeBytes: number): number {
  if (sizeBytes > frameBytesMax) throw new DecodeError('too-large', `limit is ${frameBytesMax}`)
  return sizeBytes
}
