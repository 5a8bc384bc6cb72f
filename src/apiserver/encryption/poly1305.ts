/**
 * Poly1305 message authentication. Numbers are six limbs of 22 bits in floating point, so that sums of
 * products stay far below 2^53. https://www.rfc-editor.org/rfc/rfc8439#section-2.5
 */

export const polyTagBytes = 16

const limbBits = 22
const limb = 2 ** limbBits
const limbMask = limb - 1

/** The tag of a message. A key must never be used for two messages. */
export function poly1305(key: Uint8Array, message: Uint8Array): Uint8Array {
  const multiplier = limbsOf(clamp(key.subarray(0, 16)), 0, 0)
  // A limb beyond 132 bits wraps around multiplied by 4 * 5 = 20, modulo 2^130 - 5.
  const folded = multiplier.map(each => 20 * each)
  const sum = [0, 0, 0, 0, 0, 0]
  for (let offset = 0; offset < message.length; offset += 16) {
    const isWhole = offset + 16 <= message.length
    const block = isWhole
      ? limbsOf(message, offset, 1 << 18)
      : limbsOf(padded(message.subarray(offset)), 0, 0)
    for (let index = 0; index < 6; index++) sum[index]! += block[index]!
    multiply(sum, multiplier, folded)
  }
  return finish(sum, key.subarray(16, 32))
}

function clamp(bytes: Uint8Array): Uint8Array {
  const clamped = Uint8Array.from(bytes)
  for (const index of [3, 7, 11, 15]) clamped[index]! &= 15
  for (const index of [4, 8, 12]) clamped[index]! &= 252
  return clamped
}

/** The last partial block with its end marker. */
function padded(rest: Uint8Array): Uint8Array {
  const block = new Uint8Array(16)
  block.set(rest)
  block[rest.length] = 1
  return block
}

/** Sixteen bytes as limbs. `top` marks a whole block, in the last limb. */
function limbsOf(bytes: Uint8Array, offset: number, top: number): number[] {
  const [a, b, c, d] = [
    word(bytes, offset),
    word(bytes, offset + 4),
    word(bytes, offset + 8),
    word(bytes, offset + 12),
  ]
  return [
    a & limbMask,
    ((a >>> 22) | (b << 10)) & limbMask,
    ((b >>> 12) | (c << 20)) & limbMask,
    (c >>> 2) & limbMask,
    ((c >>> 24) | (d << 8)) & limbMask,
    (d >>> 14) + top,
  ]
}

function word(bytes: Uint8Array, offset: number): number {
  return bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24)
}

function multiply(sum: number[], multiplier: readonly number[], folded: readonly number[]): void {
  const product = [0, 0, 0, 0, 0, 0]
  for (let left = 0; left < 6; left++) {
    const factor = sum[left]!
    for (let right = 0; right < 6 - left; right++) product[left + right]! += factor * multiplier[right]!
    for (let right = 6 - left; right < 6; right++) product[left + right - 6]! += factor * folded[right]!
  }
  let carry = 0
  for (let index = 0; index < 6; index++) {
    const total = product[index]! + carry
    carry = Math.floor(total / limb)
    sum[index] = total - carry * limb
  }
  // At most 2^31, so the carry out of the first limb must be propagated once more.
  const first = sum[0]! + 20 * carry
  carry = Math.floor(first / limb)
  sum[0] = first - carry * limb
  sum[1]! += carry
}

const prime = 2n ** 130n - 5n

function finish(sum: readonly number[], pad: Uint8Array): Uint8Array {
  const total = sum.reduceRight((value, each) => (value << BigInt(limbBits)) + BigInt(each), 0n) % prime
  const added = Buffer.from(pad).reverse().toString('hex')
  const tag = BigInt.asUintN(128, total + BigInt(`0x${added}`))
  return Buffer.from(tag.toString(16).padStart(32, '0'), 'hex').reverse()
}
