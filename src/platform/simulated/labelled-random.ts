/**
 * Random numbers from the seed. Each label has its own stream, derived from the seed, the scope (a host) and
 * the label, so that an additional draw in one place does not change the draws elsewhere.
 */
import { assert } from '#/base/assert.ts'
import { SeededRandom } from '#/base/seeded-random.ts'
import type { Random } from '../platform.ts'

/**
 * Maximum labels of one scope. A label identifies the purpose of a draw, not an object; exceeding it is a
 * bug.
 */
const labelsMax = 100_000

export class LabelledRandom implements Random {
  readonly #scope: string
  readonly #streams = new Map<string, SeededRandom>()

  constructor(seed: bigint, scope: string) {
    this.#scope = `${seed}/${scope}`
  }

  fraction(label: string): number {
    return this.#stream(label).fraction()
  }

  integer(label: string, below: number): number {
    return this.#stream(label).integer(below)
  }

  bytes(label: string, length: number): Uint8Array {
    return this.#stream(label).bytes(length)
  }

  /** UUID version 4, RFC 9562. */
  uuid(label: string): string {
    const bytes = this.bytes(label, 16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    const hex = Buffer.from(bytes).toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }

  #stream(label: string): SeededRandom {
    const known = this.#streams.get(label)
    if (known !== undefined) return known
    assert(this.#streams.size < labelsMax, `more than ${labelsMax} labels, the last of them ${label}`)
    const stream = new SeededRandom(`${this.#scope}/${label}`)
    this.#streams.set(label, stream)
    return stream
  }
}

/** True with this probability, from 0 to 1. */
export function chance(random: Random, label: string, rate: number): boolean {
  return rate > 0 && random.fraction(label) < rate
}

/** A number in [`min`, `max`). */
export function between(random: Random, label: string, range: { min: number; max: number }): number {
  return range.max <= range.min ? range.min : range.min + random.fraction(label) * (range.max - range.min)
}
