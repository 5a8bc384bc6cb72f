/**
 * The certificates of the cluster's own etcd, in kubeadm's files. They have a separate certificate authority,
 * so that client certificates for the API server give no access to etcd.
 */
import { join } from 'node:path'
import {
  ensureCaFile,
  ensureCertificateFile,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'
import type { CertificateProfile } from './certificates/profile.ts'

export interface EtcdCertificatesOptions extends CertificateOptions {
  /** The folder of all certificates of the cluster. Created when missing. */
  readonly folder: string
  readonly nodeName: string
  /** Names and addresses of this machine for the other etcd members. */
  readonly names: readonly string[]
}

export interface EtcdCertificates {
  readonly ca: CertificateAuthority
  readonly server: KeyAndCertificate
  readonly peer: KeyAndCertificate
  readonly healthcheckClient: KeyAndCertificate
  readonly apiServerClient: KeyAndCertificate
}

/** Rejects when the etcd certificate authority has expired, or its key is missing but needed. */
export async function ensureEtcdCertificates(options: EtcdCertificatesOptions): Promise<EtcdCertificates> {
  const { platform, crypto, validity, folder, nodeName, names } = options
  const made = { platform, crypto, validity }
  await platform.files.makeFolder(folder, { mode: 0o700 })
  await platform.files.makeFolder(join(folder, 'etcd'), { mode: 0o700 })
  const ca = await ensureCaFile(made, { folder, name: 'etcd/ca', commonName: 'etcd-ca' })
  const ensure = (name: string, profile: CertificateProfile): Promise<KeyAndCertificate> => {
    return ensureCertificateFile(made, { folder, name, profile, ca })
  }
  const member: CertificateProfile = {
    commonName: nodeName,
    organizations: [],
    // An etcd member is also a client of all members.
    usage: 'server and client',
    names: [...new Set([nodeName, 'localhost', '127.0.0.1', '::1', ...names])],
  }
  const [server, peer, healthcheckClient, apiServerClient] = await Promise.all([
    ensure('etcd/server', member),
    ensure('etcd/peer', member),
    ensure('etcd/healthcheck-client', clientProfile('kube-etcd-healthcheck-client')),
    ensure('apiserver-etcd-client', clientProfile('kube-apiserver-etcd-client')),
  ])
  return { ca: ca, server, peer, healthcheckClient, apiServerClient }
}

function clientProfile(commonName: string): CertificateProfile {
  return { commonName, organizations: [], usage: 'client', names: [] }
}
