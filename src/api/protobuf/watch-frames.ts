import { DecodeError } from '../decode-error.ts'
import { lengthBytes } from './watch-event.ts'

/** Bytes of the largest event that a client takes; no object that can be stored comes near it. */
export const frameBytesMax = 16 * 1024 * 1024

/** Cuts the bytes of a watch into the messages of its events, however they come in. */
export class WatchFrames {
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** How many bytes must be there before it is worth looking at them. */
  #wantedBytes = lengthBytes

  /**
   * The messages that are complete now. Throws DecodeError when one is too large; then the stream cannot go
   * on.
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
