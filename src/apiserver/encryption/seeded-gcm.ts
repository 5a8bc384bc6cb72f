/**
 * AES-GCM with a key of its own for each value, made from one seed: however many values are written, no key is
 * used twice. What the key was made with stands in front of the value.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { aesGcm } from './aes.ts'
import { DecryptionError, type Cipher, type RandomBytes } from './cipher.ts'

export const seedBytes = 32
const infoBytes = 32

export function seededGcm(seed: KeyObject, random: RandomBytes): Cipher {
  // The first block of HKDF's expansion, which is as long as a key. https://www.rfc-editor.org/rfc/rfc5869#section-2.3
  const derive = (info: Uint8Array): KeyObject =>
    createSecretKey(createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest())
  return {
    encrypt: (value, place) => {
      const info = random(infoBytes)
      return Buffer.concat([info, aesGcm(derive(info), random).encrypt(value, place)])
    },
    decrypt: (stored, place) => {
      if (stored.length < infoBytes)
        throw new DecryptionError('the stored data was shorter than the required size')
      const key = derive(stored.subarray(0, infoBytes))
      return aesGcm(key, random).decrypt(stored.subarray(infoBytes), place)
    },
  }
}
