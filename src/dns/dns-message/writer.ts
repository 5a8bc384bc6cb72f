import { parseLabel, splitLabels } from './labels.ts'

/** Maximum offset of a compression pointer. */
const referenceMax = 0x3fff

/** Writes a message. It may exceed the limit: the caller checks `isWithin` and goes back to a mark. */
export class MessageWriter {
  limit: number
  #buffer = Buffer.alloc(512)
  #offset = 0
  /** Offsets of the names and name suffixes already written. */
  readonly #names = new Map<string, number>()

  constructor(limit: number) {
    this.limit = limit
  }

  get isWithin(): boolean {
    return this.#offset <= this.limit
  }

  mark(): number {
    return this.#offset
  }

  /** Discards everything written since the mark. */
  back(mark: number): void {
    this.#offset = mark
    for (const [name, offset] of this.#names) if (offset >= mark) this.#names.delete(name)
  }

  skip(length: number): void {
    this.#grow(length)
    this.#offset += length
  }

  uint16(value: number): void {
    this.#grow(2)
    this.#offset = this.#buffer.writeUInt16BE(value, this.#offset)
  }

  uint32(value: number): void {
    this.#grow(4)
    this.#offset = this.#buffer.writeUInt32BE(value, this.#offset)
  }

  /** Replaces a suffix that was already written by a compression pointer. */
  name(name: string, isCompressed: boolean): void {
    const labels = splitLabels(name)
    for (let index = 0; index < labels.length; index++) {
      const rest = labels.slice(index).join('.')
      const known = isCompressed ? this.#names.get(rest) : undefined
      if (known !== undefined) return this.uint16(0xc000 | known)
      if (this.#offset <= referenceMax && !this.#names.has(rest)) this.#names.set(rest, this.#offset)
      const bytes = parseLabel(labels[index]!)
      this.#grow(bytes.length + 1)
      this.#buffer[this.#offset++] = bytes.length
      this.#buffer.set(bytes, this.#offset)
      this.#offset += bytes.length
    }
    this.#grow(1)
    this.#buffer[this.#offset++] = 0
  }

  /** Writes the length, then the parts. */
  parts(parts: readonly (string | Uint8Array)[], isCompressed: boolean): void {
    const start = this.#offset
    this.skip(2)
    for (const part of parts) {
      if (typeof part === 'string') {
        this.name(part, isCompressed)
      } else {
        this.#grow(part.length)
        this.#buffer.set(part, this.#offset)
        this.#offset += part.length
      }
    }
    this.#buffer.writeUInt16BE(this.#offset - start - 2, start)
  }

  /** Writes the header into the bytes skipped at the start. */
  header(values: readonly number[]): void {
    for (const [index, value] of values.entries()) this.#buffer.writeUInt16BE(value, index * 2)
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#offset)
  }

  #grow(length: number): void {
    if (this.#offset + length <= this.#buffer.length) return
    const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#offset + length))
    this.#buffer.copy(larger, 0, 0, this.#offset)
    this.#buffer = larger
  }
}
