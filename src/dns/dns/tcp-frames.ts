/** Messages on a stream have their length before them. */
export function framed(message: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(message.length + 2)
  frame.writeUInt16BE(message.length)
  frame.set(message, 2)
  return frame
}

/** Cuts a stream into its messages. No more than one message and what came with its end is ever kept. */
export class FrameReader {
  #pieces: Uint8Array[] = []
  #length = 0
  /** How long the next message is with its length; undefined while too little is there to know. */
  #wanted: number | undefined

  /** The messages that are whole now. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    const frames: Uint8Array[] = []
    // Pieces are put together once, when the message is whole, however small they are.
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
