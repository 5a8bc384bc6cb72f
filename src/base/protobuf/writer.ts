import { ProtobufError } from './protobuf-error.ts'
import { depthMax, type DepthOptions } from './reader.ts'

/** Writes values in sequence into a growing buffer. */
export class Writer {
  #bytes = Buffer.allocUnsafeSlow(startBytes)
  #position = 0
  #depth = 0
  readonly #depthMax: number

  constructor(options: DepthOptions = {}) {
    this.#depthMax = options.depthMax ?? depthMax
  }

  /** Returns a copy of the written bytes and resets the writer. */
  finish(): Uint8Array {
    const result = new Uint8Array(this.#position)
    result.set(this.#bytes.subarray(0, this.#position))
    this.reset()
    return result
  }

  reset(): void {
    this.#position = 0
    this.#depth = 0
    if (this.#bytes.length > keptBytesMax) this.#bytes = Buffer.allocUnsafeSlow(startBytes)
  }

  /** Begins a length-prefixed value. Returns the argument for `close`. */
  open(): number {
    if (++this.#depth > this.#depthMax) throw new ProtobufError('messages are nested too deep')
    this.#reserve(1)
    return ++this.#position
  }

  close(start: number): void {
    this.#depth--
    const length = this.#position - start
    if (length >= 0x80) {
      const extra = varintLength(length) - 1
      this.#reserve(extra)
      this.#bytes.copyWithin(start + extra, start, this.#position)
      this.#position = start - 1
      this.uint32(length)
      this.#position += length
    } else {
      this.#bytes[start - 1] = length
    }
  }

  uint32(value: number): void {
    this.#reserve(5)
    const bytes = this.#bytes
    let rest = value
    while (rest >= 0x80) {
      bytes[this.#position++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    bytes[this.#position++] = rest
  }

  /** Negative numbers take ten bytes, like an int64 of the same value. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value)
    else this.#varint(value, -1)
  }

  sint32(value: number): void {
    this.uint32(((value << 1) ^ (value >> 31)) >>> 0)
  }

  bool(value: boolean): void {
    this.uint32(value ? 1 : 0)
  }

  /** Signed and unsigned values have the same encoding. */
  int64(value: number | bigint): void {
    if (typeof value === 'number') this.#varint(value, Math.floor(value / twoTo32))
    else this.#varint(Number(value & lowBits), Number((value >> 32n) & lowBits))
  }

  sint64(value: number | bigint): void {
    const wide = BigInt(value)
    this.int64((wide << 1n) ^ (wide >> 63n))
  }

  fixed32(value: number): void {
    this.#reserve(4)
    this.#position = this.#bytes.writeInt32LE(value | 0, this.#position)
  }

  fixed64(value: number | bigint): void {
    this.#reserve(8)
    this.#position = this.#bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)), this.#position)
  }

  float(value: number): void {
    this.#reserve(4)
    this.#position = this.#bytes.writeFloatLE(value, this.#position)
  }

  double(value: number): void {
    this.#reserve(8)
    this.#position = this.#bytes.writeDoubleLE(value, this.#position)
  }

  string(value: string): void {
    if (value.length <= shortText) return this.#shortString(value)
    const length = Buffer.byteLength(value)
    this.uint32(length)
    this.#reserve(length)
    this.#position += this.#bytes.write(value, this.#position)
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length)
    this.#reserve(value.length)
    this.#bytes.set(value, this.#position)
    this.#position += value.length
  }

  /** For short ASCII strings a loop is faster than a call into the runtime. */
  #shortString(value: string): void {
    this.#reserve(1 + value.length * 3)
    const bytes = this.#bytes
    const start = this.#position + 1
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index)
      if (code >= 0x80) {
        const length = bytes.write(value, start)
        bytes[start - 1] = length
        this.#position = start + length
        return
      }
      bytes[start + index] = code
    }
    bytes[start - 1] = value.length
    this.#position = start + value.length
  }

  #varint(lowHalf: number, highHalf: number): void {
    this.#reserve(10)
    const bytes = this.#bytes
    let low = lowHalf >>> 0
    let high = highHalf >>> 0
    while (high !== 0 || low >= 0x80) {
      bytes[this.#position++] = (low & 0x7f) | 0x80
      low = ((low >>> 7) | (high << 25)) >>> 0
      high >>>= 7
    }
    bytes[this.#position++] = low
  }

  #reserve(count: number): void {
    const needed = this.#position + count
    if (needed <= this.#bytes.length) return
    if (needed > bytesMax) throw new ProtobufError('the message is too large')
    const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(needed, this.#bytes.length * 2), bytesMax))
    this.#bytes.copy(grown, 0, 0, this.#position)
    this.#bytes = grown
  }
}

const startBytes = 4_096

/** A larger buffer is released on reset. */
const keptBytesMax = 1_048_576

/** Maximum size of a message in the wire format. */
const bytesMax = 2 ** 31 - 1

/**
 * A string of up to this many UTF-16 code units encodes to less than 128 bytes, so its length prefix is one
 * byte.
 */
const shortText = 42

const twoTo32 = 2 ** 32
const lowBits = 0xffff_ffffn

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest >>>= 7) length++
  return length
}
