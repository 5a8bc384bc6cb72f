/** AES-GCM and AES-CBC in the storage formats of Kubernetes. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { DecryptionError, type Cipher, type RandomBytes } from './cipher.ts'

const nonceBytes = 12
const tagBytes = 16
const blockBytes = 16

/** Format: nonce, ciphertext, tag. The store key is authenticated data. */
export function aesGcm(key: KeyObject, random: RandomBytes): Cipher {
  const mode = `aes-${bitsOf(key)}-gcm` as const
  return {
    encrypt: (value, storeKey) => {
      const nonce = random(nonceBytes)
      const cipher = createCipheriv(mode, key, nonce).setAAD(Buffer.from(storeKey))
      return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
    },
    decrypt: (stored, storeKey) => {
      if (stored.length < nonceBytes + tagBytes) throw tooShort()
      const cipher = createDecipheriv(mode, key, stored.subarray(0, nonceBytes), { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(storeKey)).setAuthTag(stored.subarray(-tagBytes))
      const text = stored.subarray(nonceBytes, -tagBytes)
      return { value: attempt(() => Buffer.concat([cipher.update(text), cipher.final()])), isStale: false }
    },
  }
}

/** Format: initialization vector, ciphertext. Not authenticated, so tampering is not detected. */
export function aesCbc(key: KeyObject, random: RandomBytes): Cipher {
  const mode = `aes-${bitsOf(key)}-cbc`
  return {
    encrypt: value => {
      const vector = random(blockBytes)
      const cipher = createCipheriv(mode, key, vector)
      return Buffer.concat([vector, cipher.update(value), cipher.final()])
    },
    decrypt: stored => {
      if (stored.length < 2 * blockBytes || stored.length % blockBytes !== 0) throw tooShort()
      const cipher = createDecipheriv(mode, key, stored.subarray(0, blockBytes))
      const text = stored.subarray(blockBytes)
      return { value: attempt(() => Buffer.concat([cipher.update(text), cipher.final()])), isStale: false }
    },
  }
}

function bitsOf(key: KeyObject): 128 | 192 | 256 {
  return (8 * (key.symmetricKeySize ?? 0)) as 128 | 192 | 256
}

function tooShort(): DecryptionError {
  return new DecryptionError('the stored data was shorter than the required size')
}

function attempt(work: () => Uint8Array): Uint8Array {
  try {
    return work()
  } catch (cause) {
    throw new DecryptionError('message authentication failed (damaged value or wrong key)', { cause })
  }
}

export const seedBytes = 32
const infoBytes = 32

/**
 * AES-GCM with a key derived per value from a seed, so that no key is used twice however many values are
 * written. The derivation input is stored before the value.
 */
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
