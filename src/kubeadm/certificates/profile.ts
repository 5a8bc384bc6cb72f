/** What a certificate is to say. */
export interface CertificateProfile {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly usage: 'server' | 'client' | 'server and client'
  /** Host names and addresses; only a server has them. */
  readonly names: readonly string[]
}
