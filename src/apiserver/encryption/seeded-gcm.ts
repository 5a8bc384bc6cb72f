/**
 * AES-GCM with a key derived per value from a seed, so that no key is used twice however many values are
 * written. The derivation input is stored before the value.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { aesGcm } from './aes.ts'
import { DecryptionError, type Cipher, type RandomBytes } from './cipher.ts'

export const seedBytes = 32
const infoBytes = 32

export function seededGcm(seed: KeyObject, random: RandomBytes): Cipher {
  // The first block of HKDF-Expand, which has the length of a key.
  // https://www.rfc-editor.org/rfc/rfc5869#section-2.3
  const derive = (info: Uint8Array): KeyObject =>
    createSecretKey(createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest())
  return {
    encrypt: (value, storeKey) => {
      const info = random(infoBytes)
      return Buffer.concat([info, aesGcm(derive(info), random).encrypt(value, storeKey)])
    },
    decrypt: (stored, storeKey) => {
      if (stored.length < infoBytes)
        throw new DecryptionError('the stored data was shorter than the required size')
      const key = derive(stored.subarray(0, infoBytes))
      return aesGcm(key, random).decrypt(stored.subarray(infoBytes), storeKey)
    },
  }
}
