/** The contents of a certificate. */
export interface CertificateProfile {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly usage: 'server' | 'client' | 'server and client'
  /** Subject alternative names: host names and addresses, for servers only. */
  readonly names: readonly string[]
}
