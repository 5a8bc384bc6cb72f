/**
 * The certificates of a cluster, in kubeadm's files: made once, kept, and made anew when they are about to
 * expire or no longer say what they should. Only the authorities of the cluster and the key of service
 * accounts are never replaced, since everybody who knows the cluster knows it by those.
 */
import {
  ensureAuthorityFile,
  ensureCertificateFile,
  type Authority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'
import type { CertificateProfile } from './certificates/profile.ts'
import { ensureServiceAccountKeys, type ServiceAccountKeys } from './certificates/service-account-keys.ts'
import { kubeletClient as kubeletClientProfile } from './identities.ts'

export {
  ensureCertificate,
  type Authority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'

export interface ClusterCertificatesOptions extends CertificateOptions {
  /** Created when missing. */
  readonly folder: string
  /**
   * Names and addresses by which clients reach the API server, besides those that it has in every cluster.
   */
  readonly serverNames: readonly string[]
}

export interface ClusterCertificates {
  /** Signs for servers, components and users. */
  readonly authority: Authority
  readonly apiServer: KeyAndCertificate
  /** With which the API server goes to kubelets. */
  readonly kubeletClient: KeyAndCertificate
  /** Signs for proxies in front of API servers, and for nobody else. */
  readonly frontProxyAuthority: Authority
  /** With which the API server goes to servers of other groups, as a proxy in front of them. */
  readonly frontProxyClient: KeyAndCertificate
  readonly serviceAccounts: ServiceAccountKeys
}

/** Rejects when an authority of the cluster has expired, or cannot sign what is needed. */
export async function ensureClusterCertificates(
  options: ClusterCertificatesOptions,
): Promise<ClusterCertificates> {
  const { platform, crypto, folder, serverNames } = options
  const made = { platform, crypto }
  await platform.files.makeFolder(folder, { mode: 0o700 })
  const [authority, frontProxyAuthority, serviceAccounts] = await Promise.all([
    ensureAuthorityFile(made, { folder, name: 'ca', commonName: 'kubernetes' }),
    ensureAuthorityFile(made, { folder, name: 'front-proxy-ca', commonName: 'front-proxy-ca' }),
    ensureServiceAccountKeys(made, folder),
  ])
  const server = { ...apiServerProfile, names: [...new Set([...apiServerProfile.names, ...serverNames])] }
  const [apiServer, kubeletClient, frontProxyClient] = await Promise.all([
    ensureCertificateFile(made, { folder, name: 'apiserver', profile: server, authority }),
    ensureCertificateFile(made, {
      folder,
      name: 'apiserver-kubelet-client',
      profile: kubeletClientProfile,
      authority,
    }),
    ensureCertificateFile(made, {
      folder,
      name: 'front-proxy-client',
      profile: frontProxyClientProfile,
      authority: frontProxyAuthority,
    }),
  ])
  return { authority, apiServer, kubeletClient, frontProxyAuthority, frontProxyClient, serviceAccounts }
}

const apiServerProfile: CertificateProfile = {
  commonName: 'kube-apiserver',
  organizations: [],
  usage: 'server',
  // By these names and addresses the API server is known inside every cluster.
  names: [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'localhost',
    '10.96.0.1',
    '127.0.0.1',
    '::1',
  ],
}

const frontProxyClientProfile: CertificateProfile = {
  commonName: 'front-proxy-client',
  organizations: [],
  usage: 'client',
  names: [],
}
