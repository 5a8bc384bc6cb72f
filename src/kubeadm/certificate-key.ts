/**
 * The key with which certificates and keys are encrypted before they are shared between control planes: 32 bytes in
 * hexadecimal digits, for AES-256-GCM. The text is the nonce followed by the ciphertext and its tag.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Random } from '#/platform/platform.ts'

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

export function generateCertificateKey(random: Random): string {
  return Buffer.from(random.bytes('certificate-key', keyBytes)).toString('hex')
}

/** One line; undefined when the key is well-formed. */
export function validateCertificateKey(key: string): string | undefined {
  if (/^[0-9a-f]{64}$/i.test(key)) return undefined
  return 'invalid certificate key: expected 64 hexadecimal digits, see k8ts certs certificate-key'
}

export function encryptWithCertificateKey(random: Random, key: string, content: Uint8Array | string): Buffer {
  const nonce = random.bytes('certificate-nonce', nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'hex'), nonce)
  return Buffer.concat([nonce, cipher.update(Buffer.from(content)), cipher.final(), cipher.getAuthTag()])
}

/** Undefined when it was encrypted with another key, or is damaged. */
export function decryptWithCertificateKey(key: string, encrypted: Uint8Array): Buffer | undefined {
  if (encrypted.length < nonceBytes + tagBytes) return undefined
  const nonce = encrypted.subarray(0, nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key, 'hex'), nonce)
  decipher.setAuthTag(encrypted.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
