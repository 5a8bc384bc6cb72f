/** A part of a stream that is not compressed. What is added is copied, so that nothing else is kept in memory by it. */
export class RawBlock {
  /** Position in the stream. */
  readonly start: number
  readonly memory: ArrayBuffer
  readonly bytes: Buffer
  length = 0

  constructor(start: number, memory: ArrayBuffer) {
    this.start = start
    this.memory = memory
    this.bytes = Buffer.from(memory)
  }

  get end(): number {
    return this.start + this.length
  }

  get content(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }

  hasRoomFor(length: number): boolean {
    return this.length + length <= this.bytes.length
  }

  add(piece: Uint8Array): void {
    this.bytes.set(piece, this.length)
    this.length += piece.length
  }

  /** The part between two positions in the stream. */
  part(start: number, end: number): Buffer {
    return this.bytes.subarray(Math.max(0, start - this.start), Math.min(this.length, end - this.start))
  }
}
