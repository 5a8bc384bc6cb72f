/**
 * JSON Web Signatures with detached content (RFC 7515, appendix F): HMACs of a text that is sent separately,
 * made with a secret that both sides share.
 */
import { createHmac } from 'node:crypto'

export interface SharedSecret {
  /** Identifies the secret to the verifier. */
  readonly keyId: string
  readonly secret: string
}

/** Deterministic, because the verifier compares signatures as text. */
export function signDetached(content: string, { keyId, secret }: SharedSecret): string {
  const header = toBase64Url(JSON.stringify({ alg: 'HS256', kid: keyId }))
  const signature = createHmac('sha256', secret).update(`${header}.${toBase64Url(content)}`)
  return `${header}..${signature.digest('base64url')}`
}

function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
