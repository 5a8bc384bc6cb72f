/**
 * A stream of numbers that is the same for the same seed on every machine: xoshiro128**, started from the
 * SHA-256 of the seed's text, so that seeds which differ in one character give streams that have nothing in
 * common. Not for secrets.
 */
import { createHash } from 'node:crypto'
import { assert } from './assert.ts'

export class SeededRandom {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest()
    this.#a = digest.readUInt32LE(0)
    this.#b = digest.readUInt32LE(4)
    this.#c = digest.readUInt32LE(8)
    // An all-zero state would give zeros for ever.
    this.#d = digest.readUInt32LE(12) | 1
  }

  /** A number from 0 up to, not including, 1, with all 53 bits drawn. */
  fraction(): number {
    const high = this.#word() >>> 5
    const low = this.#word() >>> 6
    return (high * 0x400_0000 + low) / 0x20_0000_0000_0000
  }

  /** A whole number from 0 up to, not including, `below`. */
  integer(below: number): number {
    assert(Number.isSafeInteger(below) && below >= 1, `cannot draw a whole number below ${below}`)
    return Math.floor(this.fraction() * below)
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    for (let index = 0; index < length; index += 4) {
      const word = this.#word()
      for (let byte = 0; byte < 4 && index + byte < length; byte++) bytes[index + byte] = word >>> (8 * byte)
    }
    return bytes
  }

  #word(): number {
    const result = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9)
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = rotate(this.#d, 11)
    return result >>> 0
  }
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
