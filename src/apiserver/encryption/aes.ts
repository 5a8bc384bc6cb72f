/** AES-GCM and AES-CBC in the storage formats of Kubernetes. */
import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
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
