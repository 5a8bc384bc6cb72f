/** Prefixes a message with its length. */
export function framed(message: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(message.length + 2)
  frame.writeUInt16BE(message.length)
  frame.set(message, 2)
  return frame
}

/** Splits a stream into messages. Buffers at most one message and the bytes received with its end. */
export class FrameReader {
  #pieces: Uint8Array[] = []
  #length = 0
  /** Size of the next message including its length prefix; undefined until the prefix is complete. */
  #wanted: number | undefined

  /** Returns the messages that are complete. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    const frames: Uint8Array[] = []
    // Chunks are concatenated only when the message is complete, so small chunks do not take quadratic time.
    while (this.#length >= (this.#wanted ?? 2)) {
      const all = Buffer.concat(this.#pieces)
      const end = all.readUInt16BE() + 2
      const isWhole = all.length >= end
      if (isWhole) frames.push(all.subarray(2, end))
      const rest = isWhole ? all.subarray(end) : all
      this.#pieces = [rest]
      this.#length = rest.length
      this.#wanted = isWhole ? undefined : end
    }
    return frames
  }
}
