import { webcrypto } from 'node:crypto'

/** Web Cryptography with the operating system's random source, for libraries that want it whole. */
export function nodeCrypto(): Crypto {
  return webcrypto
}
