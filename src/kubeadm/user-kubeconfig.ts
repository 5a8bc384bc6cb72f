/** Kubeconfigs for additional users, with a client certificate that the CA of the cluster signs, or a token. */
import { join } from 'node:path'
import { readIfExists } from './certificates/read-if-exists.ts'
import type { CertificateOptions } from './certificates/pair-files.ts'
import { formatKubeconfig } from './kubeconfig-file.ts'

export interface UserKubeconfigOptions extends CertificateOptions {
  readonly certificatesFolder: string
  /** The URL of the API server. */
  readonly server: string
  /** The common name of the certificate. */
  readonly name: string
  /** The groups of the user. */
  readonly organizations: readonly string[]
  /** Used instead of a certificate when set. */
  readonly token?: string | undefined
  /** A year when absent. */
  readonly validityMs?: number | undefined
}

/** Rejects when the CA, or for a certificate its key, is not on this machine. */
export async function issueUserKubeconfig(options: UserKubeconfigOptions): Promise<string> {
  const { platform, certificatesFolder, server, name, organizations, token, validityMs } = options
  const path = join(certificatesFolder, 'ca')
  const caCertificates = await readIfExists(platform.files, `${path}.crt`)
  if (caCertificates === undefined)
    throw new Error(`cannot make a kubeconfig: ${path}.crt is missing, set --data-dir`)
  const common = { caCertificates, server, userName: name }
  if (token !== undefined) return formatKubeconfig({ ...common, user: { token } })
  const key = await readIfExists(platform.files, `${path}.key`)
  if (key === undefined)
    throw new Error(`cannot issue a client certificate: ${path}.key is missing, the CA is external`)
  const { issueCertificate } = await import('./certificates/issue.ts')
  const pair = await issueCertificate(options, {
    profile: { commonName: name, organizations, usage: 'client', names: [] },
    ca: { cert: caCertificates, key },
    validityMs,
  })
  return formatKubeconfig({ ...common, user: pair })
}
