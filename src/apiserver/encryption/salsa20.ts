/**
 * The XSalsa20 stream cipher: Salsa20 with a nonce long enough to be random. Node has no Salsa20.
 * https://cr.yp.to/snuffle/xsalsa-20110204.pdf
 */

export const xsalsaNonceBytes = 24

/** `length` bytes of the key stream. */
export function xsalsa20(key: Uint8Array, nonce: Uint8Array, length: number): Uint8Array {
  const subkey = hsalsa20(readWords(key), readWords(nonce.subarray(0, 16)))
  const tail = readWords(nonce.subarray(16))
  const stream = new Uint8Array(Math.ceil(length / 64) * 64)
  const view = new DataView(stream.buffer)
  const input = new Uint32Array(16)
  const mixed = new Uint32Array(16)
  for (let offset = 0, counter = 0; offset < length; offset += 64, counter++) {
    fill(input, subkey, [tail[0]!, tail[1]!, counter, Math.floor(counter / 2 ** 32)])
    mixed.set(input)
    mix(mixed)
    for (let index = 0; index < 16; index++)
      view.setUint32(offset + 4 * index, mixed[index]! + input[index]!, true)
  }
  return stream.subarray(0, length)
}

/** Derives a subkey from the first part of the nonce. */
function hsalsa20(key: Uint32Array, head: Uint32Array): Uint32Array {
  const state = new Uint32Array(16)
  fill(state, key, head)
  mix(state)
  return Uint32Array.from([0, 5, 10, 15, 6, 7, 8, 9], index => state[index]!)
}

/** `expand 32-byte k`. */
const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const

function fill(state: Uint32Array, key: Uint32Array, middle: ArrayLike<number>): void {
  for (let index = 0; index < 4; index++) {
    state[5 * index] = constants[index]!
    state[1 + index] = key[index]!
    state[6 + index] = middle[index]!
    state[11 + index] = key[4 + index]!
  }
}

const doubleRounds = 10

/** A double round: columns, then rows. */
function mix(state: Uint32Array): void {
  for (let round = 0; round < doubleRounds; round++) {
    step(state, 0, 4, 8, 12)
    step(state, 5, 9, 13, 1)
    step(state, 10, 14, 2, 6)
    step(state, 15, 3, 7, 11)
    step(state, 0, 1, 2, 3)
    step(state, 5, 6, 7, 4)
    step(state, 10, 11, 8, 9)
    step(state, 15, 12, 13, 14)
  }
}

function step(state: Uint32Array, a: number, b: number, c: number, d: number): void {
  const second = state[b]! ^ rotate(state[a]! + state[d]!, 7)
  const third = state[c]! ^ rotate(second + state[a]!, 9)
  const fourth = state[d]! ^ rotate(third + second, 13)
  state[b] = second
  state[c] = third
  state[d] = fourth
  state[a] = state[a]! ^ rotate(fourth + third, 18)
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

function readWords(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Uint32Array.from({ length: bytes.length / 4 }, (_, index) => view.getUint32(4 * index, true))
}
