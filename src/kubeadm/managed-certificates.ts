/**
 * The certificates that kubeadm manages, in the folder of the certificates and in kubeconfigs: lists when they expire,
 * and renews them with the names that they have.
 */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'
import { readIfExists } from './certificates/read-if-exists.ts'
import { renewBeforeMs } from './certificates/renewal-reason.ts'
import type { CertificateOptions, KeyAndCertificate } from './certificates/pair-files.ts'
import { readEmbeddedCertificate, replaceEmbeddedCertificate } from './kubeconfig-file.ts'

export interface ManagedFolders {
  /** kubeadm's `--cert-dir`. */
  readonly certificates: string
  /** The folder of the kubeconfigs. */
  readonly kubeconfigs: string
}

export interface ManagedCertificate {
  /** As a parameter of `certs renew`. */
  readonly name: string
  readonly longName: string
  /** Below the folder of certificates, without extension; undefined for a kubeconfig. */
  readonly file?: string
  readonly ca: ManagedCa
  /** kubeadm does not have it: not listed unless it exists. */
  readonly isOptional?: boolean
}

export interface ManagedCa {
  readonly name: string
  /** Below the folder of certificates, without extension. */
  readonly file: string
}

const ca: ManagedCa = { name: 'ca', file: 'ca' }
const etcdCa: ManagedCa = { name: 'etcd-ca', file: 'etcd/ca' }
const frontProxyCa: ManagedCa = { name: 'front-proxy-ca', file: 'front-proxy-ca' }

/** With kubeadm's names, in its order. */
export const managedCertificates: readonly ManagedCertificate[] = [
  kubeconfig('admin.conf', 'the admin to use and for kubeadm itself'),
  { name: 'apiserver', longName: 'certificate for serving the Kubernetes API', file: 'apiserver', ca },
  {
    name: 'apiserver-etcd-client',
    longName: 'certificate the apiserver uses to access etcd',
    file: 'apiserver-etcd-client',
    ca: etcdCa,
  },
  {
    name: 'apiserver-kubelet-client',
    longName: 'certificate for the API server to connect to kubelet',
    file: 'apiserver-kubelet-client',
    ca,
  },
  kubeconfig('controller-manager.conf', 'the controller manager to use'),
  { ...kubeconfig('dns.conf', 'the DNS server to use'), isOptional: true },
  {
    name: 'etcd-healthcheck-client',
    longName: 'certificate for liveness probes to healthcheck etcd',
    file: 'etcd/healthcheck-client',
    ca: etcdCa,
  },
  {
    name: 'etcd-peer',
    longName: 'certificate for etcd nodes to communicate with each other',
    file: 'etcd/peer',
    ca: etcdCa,
  },
  { name: 'etcd-server', longName: 'certificate for serving etcd', file: 'etcd/server', ca: etcdCa },
  {
    name: 'front-proxy-client',
    longName: 'certificate for the front proxy client',
    file: 'front-proxy-client',
    ca: frontProxyCa,
  },
  kubeconfig('scheduler.conf', 'the scheduler manager to use'),
  kubeconfig('super-admin.conf', 'the super-admin'),
]

function kubeconfig(name: string, purpose: string): ManagedCertificate {
  return { name, longName: `certificate embedded in the kubeconfig file for ${purpose}`, ca }
}

export interface CertificateExpiration {
  readonly name: string
  /** Undefined for a certificate that does not exist. */
  readonly expiresMs: number | undefined
  /** Of the CA that signs it; undefined for a CA. */
  readonly caName?: string
  /** True when the key of the CA is not on this machine. */
  readonly isExternallyManaged: boolean
}

export interface CertificateExpirations {
  readonly certificates: readonly CertificateExpiration[]
  readonly authorities: readonly CertificateExpiration[]
}

/** Certificates of etcd are left out when the cluster has no etcd of its own. */
export async function readCertificateExpirations(
  files: Files,
  folders: ManagedFolders,
): Promise<CertificateExpirations> {
  const hasEtcd = (await readIfExists(files, join(folders.certificates, `${etcdCa.file}.crt`))) !== undefined
  const isListed = ({ name }: ManagedCa): boolean => hasEtcd || name !== etcdCa.name
  const authorities: CertificateExpiration[] = []
  for (const { name, file } of [ca, etcdCa, frontProxyCa].filter(isListed)) {
    const cert = await readIfExists(files, join(folders.certificates, `${file}.crt`))
    const isExternallyManaged = cert !== undefined && !(await hasKey(files, folders, file))
    authorities.push({ name, expiresMs: expiryOf(cert), isExternallyManaged })
  }
  const certificates: CertificateExpiration[] = []
  for (const managed of managedCertificates.filter(each => isListed(each.ca))) {
    const existing = await readManaged(files, folders, managed)
    if (existing === undefined && managed.isOptional) continue
    certificates.push({
      name: managed.name,
      expiresMs: expiryOf(existing?.cert),
      caName: managed.ca.name,
      isExternallyManaged:
        authorities.find(each => each.name === managed.ca.name)?.isExternallyManaged ?? false,
    })
  }
  return { certificates, authorities }
}

/** A certificate of another CA is renewed by its administrator. */
export function isRenewalDue(
  { expiresMs, isExternallyManaged }: CertificateExpiration,
  nowMs: number,
): boolean {
  return !isExternallyManaged && expiresMs !== undefined && expiresMs - nowMs < renewBeforeMs
}

export interface RenewOptions extends CertificateOptions {
  readonly folders: ManagedFolders
  readonly certificate: ManagedCertificate
}

/**
 * Issues the certificate with a new key for a year, with the subject, the names and the usages of the existing one.
 * `external` when the key of the CA is not on this machine.
 */
export async function renewCertificate(options: RenewOptions): Promise<'renewed' | 'missing' | 'external'> {
  const {
    platform: { files },
    folders,
    certificate,
  } = options
  const existing = await readManaged(files, folders, certificate)
  if (existing === undefined) return 'missing'
  const caPath = join(folders.certificates, certificate.ca.file)
  const caCert = await readIfExists(files, `${caPath}.crt`)
  const caKey = await readIfExists(files, `${caPath}.key`)
  if (caCert === undefined) throw new Error(`cannot renew ${certificate.name}: ${caPath}.crt is missing`)
  if (caKey === undefined) return 'external'
  const { issueCertificate, profileOf } = await import('./certificates/issue.ts')
  const pair = await issueCertificate(options, {
    profile: profileOf(existing.cert),
    ca: { cert: caCert, key: caKey },
  })
  if (certificate.file === undefined) {
    const path = join(folders.kubeconfigs, certificate.name)
    const text = Buffer.from(await files.read(path)).toString()
    await files.write(path, replaceEmbeddedCertificate(text, pair), { mode: 0o600 })
    return 'renewed'
  }
  const path = join(folders.certificates, certificate.file)
  await files.write(`${path}.key`, pair.key, { mode: 0o600 })
  await files.write(`${path}.crt`, pair.cert, { mode: 0o600 })
  return 'renewed'
}

async function readManaged(
  files: Files,
  folders: ManagedFolders,
  { name, file }: ManagedCertificate,
): Promise<KeyAndCertificate | undefined> {
  if (file === undefined) {
    const text = await readIfExists(files, join(folders.kubeconfigs, name))
    return text === undefined ? undefined : readEmbeddedCertificate(text)
  }
  const path = join(folders.certificates, file)
  const cert = await readIfExists(files, `${path}.crt`)
  const key = await readIfExists(files, `${path}.key`)
  return cert === undefined || key === undefined ? undefined : { cert, key }
}

async function hasKey(files: Files, folders: ManagedFolders, file: string): Promise<boolean> {
  return (await files.stat(join(folders.certificates, `${file}.key`))) !== undefined
}

function expiryOf(cert: string | undefined): number | undefined {
  return cert === undefined ? undefined : new X509Certificate(cert).validToDate.getTime()
}
