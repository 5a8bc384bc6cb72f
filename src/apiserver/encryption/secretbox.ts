/**
 * XSalsa20-Poly1305 in NaCl's secretbox format: nonce, tag, ciphertext. https://nacl.cr.yp.to/secretbox.html
 */
import { timingSafeEqual, type KeyObject } from 'node:crypto'
import { DecryptionError, type Cipher, type RandomBytes } from './cipher.ts'
import { poly1305, polyTagBytes } from './poly1305.ts'
import { xsalsa20, xsalsaNonceBytes } from './salsa20.ts'

/** The store key is not authenticated. */
export function secretbox(key: KeyObject, random: RandomBytes): Cipher {
  const secret = key.export()
  return {
    encrypt: value => {
      const nonce = random(xsalsaNonceBytes)
      return Buffer.concat([nonce, sealBox(secret, nonce, value)])
    },
    decrypt: stored => {
      if (stored.length < xsalsaNonceBytes + polyTagBytes) {
        throw new DecryptionError('the stored data was shorter than the required size')
      }
      const value = openBox(secret, stored.subarray(0, xsalsaNonceBytes), stored.subarray(xsalsaNonceBytes))
      if (value === undefined)
        throw new DecryptionError('message authentication failed (damaged value or wrong key)')
      return { value, isStale: false }
    },
  }
}

/** The first bytes of the key stream are the Poly1305 key. */
const tagKeyBytes = 32

export function sealBox(key: Uint8Array, nonce: Uint8Array, value: Uint8Array): Uint8Array {
  const stream = xsalsa20(key, nonce, tagKeyBytes + value.length)
  const text = combine(value, stream)
  return Buffer.concat([poly1305(stream.subarray(0, tagKeyBytes), text), text])
}

/** Undefined if the tag does not match. */
export function openBox(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Uint8Array | undefined {
  const text = box.subarray(polyTagBytes)
  const stream = xsalsa20(key, nonce, tagKeyBytes + text.length)
  const tag = poly1305(stream.subarray(0, tagKeyBytes), text)
  return timingSafeEqual(tag, box.subarray(0, polyTagBytes)) ? combine(text, stream) : undefined
}

function combine(bytes: Uint8Array, stream: Uint8Array): Uint8Array {
  const combined = new Uint8Array(bytes.length)
  for (let index = 0; index < bytes.length; index++)
    combined[index] = bytes[index]! ^ stream[tagKeyBytes + index]!
  return combined
}
