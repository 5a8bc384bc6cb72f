/**
 * Signs certificate signing requests with the cluster's certificate authority. Approval and duration are
 * decided elsewhere; the certificate contains what the request specifies and the CA may issue.
 */
import type { CertificateOptions, KeyAndCertificate } from './certificates/pair-files.ts'

export interface CertificateToIssue {
  /** PKCS #10, PEM. */
  readonly request: string
  /** Values of `spec.usages`: `client auth`, `digital signature`. */
  readonly usages: readonly string[]
  readonly notBeforeMs: number
  /** Limited by the expiry of the CA. */
  readonly notAfterMs: number
}

/** Resolves to PEM. Rejects when the request is not signed with its own key, or when the CA has expired. */
export type RequestSigner = (certificate: CertificateToIssue) => Promise<string>

export function requestSigner(options: CertificateOptions, authority: KeyAndCertificate): RequestSigner {
  return async certificate => {
    // The library is slow to load, and most clusters rarely sign.
    const { issueForRequest } = await import('./certificates/issue-for-request.ts')
    return issueForRequest(options, authority, certificate)
  }
}
