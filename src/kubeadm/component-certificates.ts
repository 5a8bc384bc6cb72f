/**
 * The serving certificates of the controller manager and the scheduler on this machine, signed by the cluster's
 * certificate authority, so that monitoring systems can verify them.
 */
import {
  ensureCertificateFile,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates/pair-files.ts'

export interface ComponentCertificatesOptions extends CertificateOptions {
  /** Created when missing. */
  readonly folder: string
  /** The cluster's certificate authority. */
  readonly ca: CertificateAuthority
  /** Names and addresses of this machine in the cluster. */
  readonly names: readonly string[]
}

export interface ComponentCertificates {
  readonly controllerManager: KeyAndCertificate
  readonly scheduler: KeyAndCertificate
}

/** Rejects when the certificate authority cannot sign, e.g. because its key is missing. */
export async function ensureComponentCertificates(
  options: ComponentCertificatesOptions,
): Promise<ComponentCertificates> {
  const { platform, crypto, folder, ca, names } = options
  await platform.files.makeFolder(folder, { mode: 0o700 })
  const ensure = (commonName: string): Promise<KeyAndCertificate> => {
    const profile = {
      commonName,
      organizations: [],
      usage: 'server',
      names: ['localhost', ...names],
    } as const
    return ensureCertificateFile({ platform, crypto }, { folder, name: commonName, profile, ca })
  }
  const [controllerManager, scheduler] = await Promise.all([
    ensure('kube-controller-manager'),
    ensure('kube-scheduler'),
  ])
  return { controllerManager, scheduler }
}
