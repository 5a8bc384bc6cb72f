/** Encrypts and decrypts stored values. */
export interface Cipher {
  encrypt(value: Uint8Array, storeKey: StoreKey): Uint8Array
  /** Throws or rejects with DecryptionError. */
  decrypt(stored: Uint8Array, storeKey: StoreKey): Decrypted | Promise<Decrypted>
}

/**
 * The store key. Authenticated ciphers bind the value to it, so that a value cannot be moved to a key with
 * weaker access control.
 */
export type StoreKey = string

export interface Decrypted {
  readonly value: Uint8Array
  /** True if the value should be rewritten with the current write key. */
  readonly isStale: boolean
}

/** The value is damaged or its key is unknown. The message never contains the value. */
export class DecryptionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DecryptionError'
  }
}

/** Cryptographically secure random bytes. */
export type RandomBytes = (length: number) => Uint8Array
