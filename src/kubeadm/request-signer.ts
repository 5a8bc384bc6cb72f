/**
 * Signs requests for certificates with an authority of the cluster. Whether a request should be signed, and for how
 * long, is decided elsewhere; here the certificate gets what the request asks for and the authority may give.
 */
import type { CertificateOptions, KeyAndCertificate } from './certificates/pair-files.ts'

export interface CertificateToIssue {
  /** PKCS #10, PEM. */
  readonly request: string
  /** As the API calls them: `client auth`, `digital signature`. */
  readonly usages: readonly string[]
  readonly notBeforeMs: number
  /** The certificate ends with the authority when that is earlier. */
  readonly notAfterMs: number
}

/** PEM. Rejects when the request is not signed with its own key, or when the authority has expired. */
export type RequestSigner = (certificate: CertificateToIssue) => Promise<string>

export function requestSigner(options: CertificateOptions, authority: KeyAndCertificate): RequestSigner {
  return async certificate => {
    // The library is slow to load, and most clusters sign rarely.
    const { issueForRequest } = await import('./certificates/issue-for-request.ts')
    return issueForRequest(options, authority, certificate)
  }
}
