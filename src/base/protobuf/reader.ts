import { isUtf8 } from 'node:buffer'
import { ProtobufError } from './protobuf-error.ts'

/** Maximum nesting of messages, including unknown groups; the limit of other implementations. */
export const depthMax = 100

export interface DepthOptions {
  /** Overrides `depthMax` for messages known to be nested deeper. */
  readonly depthMax?: number
}

/**
 * Reads values from bytes in sequence. For any input it throws only ProtobufError and allocates at most as
 * much as the input is long.
 */
export class Reader {
  readonly #bytes: Buffer
  #position = 0
  /** End of the message being read. */
  #limit: number
  #tag = 0
  #depth = 0
  readonly #depthMax: number
  /** Low and high half of the last 64-bit value read. */
  #low = 0
  #high = 0

  constructor(bytes: Uint8Array, options: DepthOptions = {}) {
    this.#depthMax = options.depthMax ?? depthMax
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#limit = bytes.byteLength
  }

  get atEnd(): boolean {
    return this.#position >= this.#limit
  }

  /** Wire type of the field returned by `fieldNumber`. */
  get wireType(): number {
    return this.#tag & 7
  }

  /** Enters an embedded message, starting with its length. Returns the argument for `leave`. */
  enter(): number {
    const length = this.#length()
    this.#deepen()
    const outer = this.#limit
    this.#limit = this.#position + length
    return outer
  }

  leave(outer: number): void {
    this.#limit = outer
    this.#depth--
  }

  fieldNumber(): number {
    this.#tag = this.uint32()
    if (this.#high !== 0 || this.#tag < 8) throw new ProtobufError('invalid field number')
    return this.#tag >>> 3
  }

  uint32(): number {
    if (this.#position < this.#limit) {
      const byte = this.#bytes[this.#position] as number
      if (byte < 0x80) {
        this.#position++
        this.#high = 0
        return byte
      }
    }
    this.#varint()
    return this.#low
  }

  int32(): number {
    return this.uint32() | 0
  }

  sint32(): number {
    const value = this.uint32()
    return (value >>> 1) ^ -(value & 1)
  }

  bool(): boolean {
    return this.uint32() !== 0 || this.#high !== 0
  }

  uint64(): number | bigint {
    this.#varint()
    return join(this.#high, this.#low)
  }

  int64(): number | bigint {
    this.#varint()
    return join(this.#high | 0, this.#low)
  }

  sint64(): number | bigint {
    this.#varint()
    const sign = -(this.#low & 1)
    const low = ((this.#low >>> 1) | (this.#high << 31)) ^ sign
    return join((this.#high >>> 1) ^ sign, low >>> 0)
  }

  /** An int64 that must be a safe integer. */
  int53(): number {
    this.#varint()
    const value = (this.#high | 0) * twoTo32 + this.#low
    if (!Number.isSafeInteger(value)) throw new ProtobufError('integer out of range')
    return value
  }

  fixed32(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }

  sfixed32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }

  fixed64(): number | bigint {
    const at = this.#take(8)
    return join(this.#bytes.readUInt32LE(at + 4), this.#bytes.readUInt32LE(at))
  }

  sfixed64(): number | bigint {
    const at = this.#take(8)
    return join(this.#bytes.readInt32LE(at + 4), this.#bytes.readUInt32LE(at))
  }

  float(): number {
    return this.#bytes.readFloatLE(this.#take(4))
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#take(8))
  }

  string(): string {
    const length = this.#length()
    const start = this.#take(length)
    const text = this.#bytes.toString('utf8', start, this.#position)
    // Invalid UTF-8 decodes as U+FFFD, which is rare, so the bytes are checked only if it occurs.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, this.#position))) {
      throw new ProtobufError('invalid UTF-8')
    }
    return text
  }

  /** Shares memory with the input. */
  bytes(): Uint8Array {
    const length = this.#length()
    const start = this.#take(length)
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, length)
  }

  /** Skips the value of the field returned by `fieldNumber`. */
  skip(): void {
    switch (this.wireType) {
      case 0:
        this.#varint()
        return
      case 1:
        this.#take(8)
        return
      case 2:
        this.#take(this.#length())
        return
      case 3:
        this.#skipGroup(this.#tag >>> 3)
        return
      case 5:
        this.#take(4)
        return
      default:
        throw new ProtobufError('invalid wire type')
    }
  }

  #skipGroup(group: number): void {
    this.#deepen()
    for (;;) {
      const number = this.fieldNumber()
      if (this.wireType !== 4) this.skip()
      else if (number === group) break
      else throw new ProtobufError('unexpected end group')
    }
    this.#depth--
  }

  #deepen(): void {
    if (++this.#depth > this.#depthMax) throw new ProtobufError('messages are nested too deep')
  }

  #length(): number {
    const length = this.uint32()
    if (this.#high !== 0 || length > this.#limit - this.#position) throw truncated()
    return length
  }

  /** Advances the position and returns the old one. */
  #take(count: number): number {
    const start = this.#position
    if (count > this.#limit - start) throw truncated()
    this.#position = start + count
    return start
  }

  #varint(): void {
    const bytes = this.#bytes
    let position = this.#position
    const end = Math.min(this.#limit, position + varintBytesMax)
    let low = 0
    let high = 0
    for (let shift = 0; position < end; shift += 7) {
      const byte = bytes[position++] as number
      const bits = byte & 0x7f
      if (shift < 28) {
        low |= bits << shift
      } else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else {
        high |= bits << (shift - 32)
      }
      if (byte >= 0x80) continue
      if (shift === 63 && byte > 1) break
      this.#position = position
      this.#low = low >>> 0
      this.#high = high >>> 0
      return
    }
    if (position === this.#limit && position - this.#position < varintBytesMax) throw truncated()
    throw new ProtobufError('varint too long')
  }
}

/** 64 bits at seven per byte. */
const varintBytesMax = 10

const twoTo32 = 2 ** 32

/** Combines two 32-bit halves, with the upper one signed or unsigned. */
function join(high: number, low: number): number | bigint {
  const value = high * twoTo32 + low
  return Number.isSafeInteger(value) ? value : BigInt(high) * 0x1_0000_0000n + BigInt(low)
}

function truncated(): ProtobufError {
  return new ProtobufError('unexpected end of input')
}
