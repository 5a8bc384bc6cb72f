/**
 * The certificates of a cluster, in kubeadm's files: created once, and renewed when they are about to expire
 * or no longer match their profile. The certificate authorities and the service account key are never
 * replaced, since clients and tokens depend on them.
 */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import {
  ensureCaFile,
  ensureCertificateFile,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'
import type { CertificateProfile } from './certificates/profile.ts'
import { readIfExists } from './certificates/read-if-exists.ts'
import { ensureServiceAccountKeys, type ServiceAccountKeys } from './certificates/service-account-keys.ts'
import { kubeletClient as kubeletClientProfile } from './identities.ts'

export {
  ensureCertificate,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'

export interface ClusterCertificatesOptions extends CertificateOptions {
  /** Created when missing. */
  readonly folder: string
  /** Names and addresses of the API server, in addition to those that are the same in every cluster. */
  readonly serverNames: readonly string[]
}

export interface ClusterCertificates {
  /** Signs the certificates of servers, components and users. */
  readonly ca: CertificateAuthority
  readonly apiServer: KeyAndCertificate
  /** Client certificate of the API server for kubelets. */
  readonly kubeletClient: KeyAndCertificate
  /** Signs only client certificates of front proxies. */
  readonly frontProxyCa: CertificateAuthority
  /** Client certificate of the API server as the front proxy of aggregated API servers. */
  readonly frontProxyClient: KeyAndCertificate
  readonly serviceAccounts: ServiceAccountKeys
}

/** Rejects when a certificate authority has expired, or its key is missing but needed. */
export async function ensureClusterCertificates(
  options: ClusterCertificatesOptions,
): Promise<ClusterCertificates> {
  const { platform, crypto, validity, folder, serverNames } = options
  const made = { platform, crypto, validity }
  await platform.files.makeFolder(folder, { mode: 0o700 })
  const [ca, frontProxyCa, serviceAccounts] = await Promise.all([
    ensureCaFile(made, { folder, name: 'ca', commonName: 'kubernetes' }),
    ensureCaFile(made, { folder, name: 'front-proxy-ca', commonName: 'front-proxy-ca' }),
    ensureServiceAccountKeys(made, folder),
  ])
  const server = { ...apiServerProfile, names: [...new Set([...apiServerProfile.names, ...serverNames])] }
  const [apiServer, kubeletClient, frontProxyClient] = await Promise.all([
    ensureCertificateFile(made, { folder, name: 'apiserver', profile: server, ca }),
    ensureCertificateFile(made, {
      folder,
      name: 'apiserver-kubelet-client',
      profile: kubeletClientProfile,
      ca,
    }),
    ensureCertificateFile(made, {
      folder,
      name: 'front-proxy-client',
      profile: frontProxyClientProfile,
      ca: frontProxyCa,
    }),
  ])
  return { ca, apiServer, kubeletClient, frontProxyCa, frontProxyClient, serviceAccounts }
}

/** As `ensureClusterCertificates`, for certificates that exist: the names of the API server remain. */
export async function renewClusterCertificates(
  options: Omit<ClusterCertificatesOptions, 'serverNames'>,
): Promise<ClusterCertificates> {
  const path = join(options.folder, 'apiserver.crt')
  const cert = await readIfExists(options.platform.files, path)
  if (cert === undefined) throw new Error(`${path} is missing: run k8ts init phase certs`)
  return ensureClusterCertificates({ ...options, serverNames: certificateNames(cert) })
}

/** Subject alternative names of a certificate in PEM: host names and addresses. */
function certificateNames(pem: string): readonly string[] {
  const { subjectAltName = '' } = new X509Certificate(pem)
  return subjectAltName.split(', ').flatMap(entry => {
    const [, name] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? []
    return name === undefined ? [] : [name]
  })
}

const apiServerProfile: CertificateProfile = {
  commonName: 'kube-apiserver',
  organizations: [],
  usage: 'server',
  // The names and addresses of the API server in every cluster.
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
