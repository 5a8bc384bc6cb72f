/**
 * XSalsa20-Poly1305 in NaCl's secretbox format: nonce, tag, ciphertext. https://nacl.cr.yp.to/secretbox.html
 * `node:crypto` has no Salsa20.
 */
import type { KeyObject } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'
import { DecryptionError, type Cipher, type RandomBytes } from './cipher.ts'

const { nonceLength: nonceBytes, tagLength: tagBytes } = xsalsa20poly1305

/** The store key is not authenticated. */
export function secretbox(key: KeyObject, random: RandomBytes): Cipher {
  const secret = key.export()
  return {
    encrypt: value => {
      const nonce = random(nonceBytes)
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(value)])
    },
    decrypt: stored => {
      if (stored.length < nonceBytes + tagBytes) {
        throw new DecryptionError('the stored data was shorter than the required size')
      }
      const box = xsalsa20poly1305(secret, stored.subarray(0, nonceBytes))
      try {
        return { value: box.decrypt(stored.subarray(nonceBytes)), isStale: false }
      } catch (cause) {
        throw new DecryptionError('message authentication failed (damaged value or wrong key)', { cause })
      }
    },
  }
}
