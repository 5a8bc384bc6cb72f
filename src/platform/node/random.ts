import type * as nodeCrypto from 'node:crypto'
import { assert } from '#/base/assert.ts'
import type { Random } from '../platform.ts'

/** The operating system's random source. Labels are ignored: every draw is independent. */
export function nodeRandom(): Random {
  const next = wholeNumbers()
  return {
    fraction: () => next() / range,
    integer: (_label, below) => {
      assert(Number.isSafeInteger(below) && below > 0, `cannot draw a whole number below ${below}`)
      // Numbers above the last multiple of `below` would bias the result.
      const fair = range - (range % below)
      let drawn = next()
      while (drawn >= fair) drawn = next()
      return drawn % below
    },
    bytes: (_label, length) => cryptography().randomBytes(length),
    uuid: () => cryptography().randomUUID(),
  }
}

let loaded: typeof nodeCrypto | undefined

/** Loaded on first use, since most short programs draw nothing. */
function cryptography(): typeof nodeCrypto {
  loaded ??= process.getBuiltinModule('node:crypto')
  return loaded
}

/** Exclusive bound of the drawn integers: the largest range that a double represents exactly. */
const range = 2 ** 53

/** Draws fetched from the operating system at once; a call per draw would cost ten times as much. */
const drawsAtOnce = 512

/**
 * Draws integers below `range`. Never for secrets: a drawn number stays in memory until it is overwritten.
 */
function wholeNumbers(): () => number {
  const pool = new Uint32Array(2 * drawsAtOnce)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      cryptography().randomFillSync(pool)
      used = 0
    }
    const high = pool[used++]! >>> 11
    const low = pool[used++]!
    return high * 2 ** 32 + low
  }
}
