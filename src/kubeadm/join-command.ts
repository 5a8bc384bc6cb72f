/** The command line with which a machine joins a cluster. */
import { caCertHash, splitCertificates } from './ca-cert-hash.ts'

export interface JoinCommandOptions {
  /** The URL of the API server. */
  readonly server: string
  /** PEM. */
  readonly caCertificates: string
  readonly token: string
  /** Set for a machine that joins as a control plane. */
  readonly certificateKey?: string | undefined
}

export function joinCommand({ server, caCertificates, token, certificateKey }: JoinCommandOptions): string {
  const { host } = new URL(server)
  const endpoint = /:\d+$/.test(host) ? host : `${host}:443`
  return [
    `k8ts join ${endpoint} --token ${token}`,
    ...splitCertificates(caCertificates).map(
      certificate => `--discovery-token-ca-cert-hash ${caCertHash(certificate)}`,
    ),
    ...(certificateKey === undefined ? [] : [`--control-plane --certificate-key ${certificateKey}`]),
  ].join(' ')
}
