/**
 * The certificate by which a kubelet's server is known: made by whoever has the key of the cluster's authority, for the
 * node that it stands beside. It is for the node's name and addresses and for nothing else.
 */
import {
  ensureCertificateFile,
  type Authority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'
import { nodeIdentity } from './identities.ts'

export interface KubeletCertificatesOptions extends CertificateOptions {
  /** Of the node. Created when missing. */
  readonly folder: string
  /** Of the cluster. */
  readonly authority: Authority
  readonly nodeName: string
  /** By which the API server reaches the node: those in its status. */
  readonly addresses: readonly string[]
}

export interface KubeletCertificates {
  readonly server: KeyAndCertificate
}

/** Rejects when the authority of the cluster cannot sign what is needed. */
export async function ensureKubeletCertificates(
  options: KubeletCertificatesOptions,
): Promise<KubeletCertificates> {
  const { platform, crypto, folder, authority, nodeName, addresses } = options
  await platform.files.makeFolder(folder, { mode: 0o700 })
  const { commonName, organizations } = nodeIdentity(nodeName)
  const profile = {
    commonName,
    organizations,
    usage: 'server',
    names: [...new Set([nodeName, ...addresses])],
  } as const
  const server = await ensureCertificateFile(
    { platform, crypto },
    { folder, name: 'kubelet', profile, authority },
  )
  return { server }
}
