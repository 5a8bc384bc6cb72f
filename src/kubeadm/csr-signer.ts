/**
 * Signs certificate signing requests with the cluster's certificate authority. Approval and duration are
 * decided elsewhere; the certificate contains what the request specifies and the CA may issue.
 */
import type { CertificateOptions, KeyAndCertificate } from './certificates/pair-files.ts'

export interface SigningRequest {
  /** PKCS #10, PEM. */
  readonly request: string
  /** Values of `spec.usages`: `client auth`, `digital signature`. */
  readonly usages: readonly string[]
  readonly notBeforeMs: number
  /** Limited by the expiry of the CA. */
  readonly notAfterMs: number
}

/** Resolves to PEM. Rejects when the request is not signed with its own key, or when the CA has expired. */
export type CsrSigner = (certificate: SigningRequest) => Promise<string>

export function csrSigner(options: CertificateOptions, ca: KeyAndCertificate): CsrSigner {
  return async certificate => {
    // The library is slow to load, and most clusters rarely sign.
    const { signCertificateRequest } = await import('./certificates/sign-certificate-request.ts')
    return signCertificateRequest(options, ca, certificate)
  }
}
