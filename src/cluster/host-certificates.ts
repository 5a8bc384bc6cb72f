/**
 * Renews the certificates of a control plane host while its processes run. What reads its files only at the start is
 * restarted: the other hosts take over meanwhile.
 */
import { join } from 'node:path'
import { renewCertificates } from '#/component-base/renew-certificates.ts'
import {
  isRenewalDue,
  managedCertificates,
  readCertificateExpirations,
  renewCertificate,
  type CertificateExpiration,
} from '#/kubeadm/managed-certificates.ts'
import type { Platform } from '#/platform/platform.ts'

export interface HostCertificatesOptions {
  readonly platform: Platform
  readonly crypto: Crypto
  /** The folder of the host. */
  readonly folder: string
  readonly restart: (process: string) => void
}

/** etcd and the API server read their certificates again. */
const readers: ReadonlyMap<string, string> = new Map([
  ['controller-manager.conf', 'kube-controller-manager'],
  ['scheduler.conf', 'kube-scheduler'],
  ['dns.conf', 'coredns'],
])

/** Runs until aborted. A worker has no such certificates: its kubelet rotates its own. */
export async function keepHostCertificates(
  options: HostCertificatesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { platform, folder, restart } = options
  const folders = { certificates: join(folder, 'pki'), kubeconfigs: folder }
  const read = async (): Promise<readonly CertificateExpiration[]> =>
    (await readCertificateExpirations(platform.files, folders)).certificates
  const ensure = async (): Promise<readonly CertificateExpiration[]> => {
    const due = (await read()).filter(each => isRenewalDue(each, platform.clock.now()))
    for (const { name } of due) {
      const certificate = managedCertificates.find(each => each.name === name)!
      await renewCertificate({ ...options, folders, certificate })
      platform.log.info('Renewed certificate', { certificate: name })
    }
    return read()
  }
  let current = await read()
  try {
    // A renewal was due while the host was off.
    const next = await ensure()
    for (const process of processesToRestart(current, next)) restart(process)
    current = next
  } catch (error) {
    platform.log.error('Failed to renew certificates, will retry', { error })
  }
  const onRenewed = (next: readonly CertificateExpiration[]): void => {
    for (const process of processesToRestart(current, next)) restart(process)
    current = next
  }
  await renewCertificates({ platform, current, ensure, onRenewed }, signal)
}

/** By certificates that have another time of expiration than before. */
function processesToRestart(
  before: readonly CertificateExpiration[],
  after: readonly CertificateExpiration[],
): readonly string[] {
  const renewed = after.filter(({ name, expiresMs }) => {
    return expiresMs !== before.find(each => each.name === name)?.expiresMs
  })
  return [...new Set(renewed.flatMap(({ name }) => readers.get(name) ?? []))]
}
