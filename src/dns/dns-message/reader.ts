import { formatLabel } from './labels.ts'
import type { RecordField } from './record-layouts.ts'

const nameBytesMax = 255

/** Maximum number of labels in a message: names may refer to the same long name many times. */
const labelsMax = 65_535

/** Reads a message sequentially. Reading past the end returns undefined, and so do all later reads. */
export class MessageReader {
  readonly #bytes: Uint8Array
  #offset = 0
  #labels = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  uint16(): number | undefined {
    const offset = this.#take(2)
    return offset === undefined ? undefined : (this.#bytes[offset]! << 8) | this.#bytes[offset + 1]!
  }

  uint32(): number | undefined {
    const high = this.uint16()
    const low = this.uint16()
    return high === undefined || low === undefined ? undefined : high * 65_536 + low
  }

  /** Follows compression pointers. Each must point further back than the last, which prevents loops. */
  name(): string | undefined {
    const labels: string[] = []
    let length = 0
    let earliest = this.#offset
    let position = this.#offset
    let end: number | undefined
    for (;;) {
      const head = this.#bytes[position]
      if (head === undefined) return this.#fail()
      if (head >= 0xc0) {
        const low = this.#bytes[position + 1]
        const target = ((head & 0x3f) << 8) | (low ?? 0)
        if (low === undefined || target >= earliest) return this.#fail()
        end ??= position + 2
        earliest = target
        position = target
        continue
      }
      length += head + 1
      if (head >= 0x40 || length > nameBytesMax || ++this.#labels > labelsMax) return this.#fail()
      if (position + head >= this.#bytes.length) return this.#fail()
      if (head === 0) break
      labels.push(formatLabel(this.#bytes.subarray(position + 1, position + 1 + head)))
      position += head + 1
    }
    this.#offset = end ?? position + 1
    return labels.join('.')
  }

  /**
   * Reads the data of a record: the fields of its layout, then the remaining bytes. The fields must not
   * exceed the data.
   */
  parts(length: number, fields: readonly RecordField[]): readonly (string | Uint8Array)[] | undefined {
    const end = this.#offset + length
    if (end > this.#bytes.length) return this.#fail()
    const parts: (string | Uint8Array)[] = []
    for (const field of fields) {
      const part = field === 'name' ? this.name() : this.#run(field)
      if (part === undefined || this.#offset > end) return this.#fail()
      parts.push(part)
    }
    if (this.#offset < end) parts.push(this.#bytes.slice(this.#offset, end))
    this.#offset = end
    return parts
  }

  #run(field: 'string' | number): Uint8Array | undefined {
    const length = field === 'string' ? (this.#bytes[this.#offset] ?? 0) + 1 : field
    const start = this.#take(length)
    return start === undefined ? undefined : this.#bytes.slice(start, start + length)
  }

  #take(length: number): number | undefined {
    const start = this.#offset
    if (start + length > this.#bytes.length) return this.#fail()
    this.#offset += length
    return start
  }

  #fail(): undefined {
    this.#offset = Infinity
    return undefined
  }
}
