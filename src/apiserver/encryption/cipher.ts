/** How a value becomes what is stored and back. */
export interface Cipher {
  encrypt(value: Uint8Array, place: Place): Uint8Array
  /** Throws, or rejects with, DecryptionError. */
  decrypt(stored: Uint8Array, place: Place): Decrypted | Promise<Decrypted>
}

/**
 * The key in the store. Ciphers that authenticate bind the value to it, so that nobody who can write to the
 * store can move a value to where more people may read it.
 */
export type Place = string

export interface Decrypted {
  readonly value: Uint8Array
  /** The value should be written again: this is no longer how it would be encrypted today. */
  readonly isStale: boolean
}

/** A stored value is damaged, or encrypted with a key that nobody knows. Never says anything of the value. */
export class DecryptionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DecryptionError'
  }
}

/** Random bytes fit for keys. */
export type RandomBytes = (length: number) => Uint8Array
