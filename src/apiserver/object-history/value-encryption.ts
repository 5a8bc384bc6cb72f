/** Values of the log, encrypted like those of the store: the cache has plain ones. */
import type { ThrottledLog } from '#/platform/throttled-log.ts'
import { DecryptionError, type Cipher } from '../encryption/cipher.ts'

export interface ValueEncryptionOptions {
  /** Undefined for keys that are stored unencrypted. */
  readonly cipherFor: (key: string) => Cipher | undefined
  readonly log: Pick<ThrottledLog, 'warn'>
}

export class ValueEncryption {
  readonly #options: ValueEncryptionOptions

  constructor(options: ValueEncryptionOptions) {
    this.#options = options
  }

  /** Empty if the value cannot be encrypted now; it is never recorded in plain text then. */
  seal(key: string, value: Uint8Array): Uint8Array {
    const { cipherFor, log } = this.#options
    const cipher = cipherFor(key)
    if (cipher === undefined) return value
    try {
      return cipher.encrypt(value, key)
    } catch (error) {
      log.warn('seal', 'Failed to encrypt a version of an object for the history', { key, error })
      return nothing
    }
  }

  /** Undefined if no key decrypts the value. */
  async open(key: string, sealed: Uint8Array): Promise<Uint8Array | undefined> {
    if (isObject(sealed)) return sealed
    const { cipherFor, log } = this.#options
    const cipher = cipherFor(key)
    if (cipher === undefined) return undefined
    try {
      const { value } = await cipher.decrypt(sealed, key)
      return isObject(value) ? value : undefined
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error
      log.warn('open', 'Failed to decrypt a version of an object in the history', { key, error })
      return undefined
    }
  }
}

const nothing = new Uint8Array()

/** Encrypted values and the marker of undecryptable ones begin with the name of a provider. */
function isObject(value: Uint8Array): boolean {
  return value[0] === 0x7b
}
