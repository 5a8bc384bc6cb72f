/**
 * A reproducible random number generator: xoshiro128** seeded with the SHA-256 of the seed string, so that
 * similar seeds give unrelated streams. Not cryptographically secure.
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
    // The state of xoshiro must not be all zero.
    this.#d = digest.readUInt32LE(12) | 1
  }

  /** A number in [0, 1) with 53 random bits. */
  fraction(): number {
    const high = this.#word() >>> 5
    const low = this.#word() >>> 6
    return (high * 0x400_0000 + low) / 0x20_0000_0000_0000
  }

  /** An integer in [0, `below`). */
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
