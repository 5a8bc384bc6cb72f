/**
 * Signatures of a text that is sent elsewhere, made with a secret that both sides know: JSON Web Signatures whose
 * content is left out, RFC 7515, appendix F.
 */
import { createHmac } from 'node:crypto'

export interface SharedSecret {
  /** By which the other side knows which of its secrets it is. */
  readonly keyId: string
  readonly secret: string
}

/** The other side compares texts, so each input has one signature. */
export function signDetached(content: string, { keyId, secret }: SharedSecret): string {
  const header = toBase64Url(JSON.stringify({ alg: 'HS256', kid: keyId }))
  const signature = createHmac('sha256', secret).update(`${header}.${toBase64Url(content)}`)
  return `${header}..${signature.digest('base64url')}`
}

function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
