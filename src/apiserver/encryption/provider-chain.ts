/**
 * Ciphers selected by the prefix of the stored value. The first one encrypts; all can decrypt, so that keys
 * can be rotated.
 */
import type { Transformation } from '../metrics/storage.ts'
import { DecryptionError, type Cipher, type Decrypted, type StoreKey } from './cipher.ts'

export interface Provider {
  /** E.g. `k8s:enc:aescbc:v1:key1:`; empty for unencrypted values. */
  readonly prefix: string
  readonly cipher: Cipher
}

/** Common prefix of all encrypted values. */
export const encryptedPrefix = 'k8s:enc:'

/** Called at the begin of a transformation; the result is called at its end. */
export type RecordTransformation = (
  type: Transformation['type'],
  prefix: string,
  storeKey: StoreKey,
) => (status: 'OK' | 'Unknown') => void

export class ProviderChain implements Cipher {
  readonly #links: readonly Link[]
  readonly #record: RecordTransformation | undefined

  constructor(providers: readonly Provider[], record?: RecordTransformation) {
    this.#record = record
    this.#links = providers.map(({ prefix, cipher }) => ({
      prefix: Buffer.from(prefix),
      name: /^k8s:enc:(?!kms:)[^:]+:v\d+:/.exec(prefix)?.[0] ?? prefix,
      cipher,
    }))
  }

  encrypt(value: Uint8Array, storeKey: StoreKey): Uint8Array {
    const { prefix, name, cipher } = this.#links[0]!
    const end = this.#record?.('to_storage', name, storeKey)
    try {
      const encrypted = cipher.encrypt(value, storeKey)
      end?.('OK')
      return prefix.length === 0 ? encrypted : Buffer.concat([prefix, encrypted])
    } catch (error) {
      end?.('Unknown')
      throw error
    }
  }

  decrypt(stored: Uint8Array, storeKey: StoreKey): Decrypted | Promise<Decrypted> {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length)
    return this.#tryFrom(0, { bytes, storeKey })
  }

  /**
   * Tries the next provider after a failure, because several providers may have different keys of the same
   * name.
   */
  #tryFrom(start: number, stored: Stored, failure?: DecryptionError): Decrypted | Promise<Decrypted> {
    const { bytes, storeKey } = stored
    for (let index = start; index < this.#links.length; index++) {
      const { prefix, name, cipher } = this.#links[index]!
      if (!bytes.subarray(0, prefix.length).equals(prefix)) continue
      const end = this.#record?.('from_storage', name, storeKey)
      const succeed = (decrypted: Decrypted): Decrypted => {
        end?.('OK')
        return withAge(decrypted, index)
      }
      const next = (error: unknown): Decrypted | Promise<Decrypted> => {
        end?.('Unknown')
        if (!(error instanceof DecryptionError)) throw error
        return this.#tryFrom(index + 1, stored, error)
      }
      try {
        const decrypted = cipher.decrypt(bytes.subarray(prefix.length), storeKey)
        return decrypted instanceof Promise ? decrypted.then(succeed, next) : succeed(decrypted)
      } catch (error) {
        return next(error)
      }
    }
    throw failure ?? new DecryptionError('no matching prefix found')
  }
}

interface Stored {
  readonly bytes: Buffer
  readonly storeKey: StoreKey
}

interface Link {
  readonly prefix: Buffer
  /** The prefix without the name of the key. */
  readonly name: string
  readonly cipher: Cipher
}

/** Values not written by the first provider are stale. */
function withAge(decrypted: Decrypted, index: number): Decrypted {
  return index === 0 || decrypted.isStale ? decrypted : { ...decrypted, isStale: true }
}

/** Stores values unencrypted. Rejects values that have the prefix of encrypted ones. */
export const identity: Cipher = {
  encrypt: value => value,
  decrypt: stored => {
    if (Buffer.from(stored.subarray(0, encryptedPrefix.length)).equals(Buffer.from(encryptedPrefix))) {
      throw new DecryptionError('the value is encrypted, but no matching key is configured')
    }
    return { value: stored, isStale: false }
  },
}
