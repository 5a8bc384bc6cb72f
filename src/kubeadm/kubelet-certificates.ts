/**
 * The serving certificate of the kubelet on this machine, signed by the cluster's certificate authority. It
 * is valid only for the node's name and addresses.
 */
import {
  ensureCertificateFile,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'
import { nodeIdentity } from './identities.ts'

export interface KubeletCertificatesOptions extends CertificateOptions {
  /** Folder of the node. Created when missing. */
  readonly folder: string
  /** The cluster's certificate authority. */
  readonly ca: CertificateAuthority
  readonly nodeName: string
  /** Addresses of the node's status, which the API server connects to. */
  readonly addresses: readonly string[]
}

export interface KubeletCertificates {
  readonly server: KeyAndCertificate
}

/** Rejects when the certificate authority cannot sign, e.g. because its key is missing. */
export async function ensureKubeletCertificates(
  options: KubeletCertificatesOptions,
): Promise<KubeletCertificates> {
  const { platform, crypto, folder, ca, nodeName, addresses } = options
  await platform.files.makeFolder(folder, { mode: 0o700 })
  const { commonName, organizations } = nodeIdentity(nodeName)
  const profile = {
    commonName,
    organizations,
    usage: 'server',
    names: [...new Set([nodeName, ...addresses])],
  } as const
  const server = await ensureCertificateFile({ platform, crypto }, { folder, name: 'kubelet', profile, ca })
  return { server }
}
