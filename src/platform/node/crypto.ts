import { webcrypto } from 'node:crypto'

/**
 * Web Cryptography API with the operating system's random source, for libraries that require the whole API.
 */
export function nodeCrypto(): Crypto {
  return webcrypto
}
