/** The files of a host that an upgrade renews: its certificates and the configuration of its kubelet. */
import { join } from 'node:path'
import {
  managedCertificates,
  readCertificateExpirations,
  renewCertificate,
} from '#/kubeadm/managed-certificates.ts'
import { fetchKubeletConfiguration } from '#/kubeadm/stored-configuration.ts'
import { formatHostKubeletConfiguration } from '#/kubeadm/upload-config.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { connectCluster } from '../cluster-connection.ts'
import type { UpgradeRun } from './apply.ts'

/** Those that exist, as kubeadm does it; the kubelet renews its own. */
export async function renewHostCertificates({ platform, terminal, folder, flags }: HostRun): Promise<void> {
  if (flags['certificate-renewal'] === false) return
  const folders = { certificates: join(folder, 'pki'), kubeconfigs: folder }
  const { certificates } = await readCertificateExpirations(platform.files, folders)
  const present = new Set(certificates.filter(each => each.expiresMs !== undefined).map(({ name }) => name))
  for (const certificate of managedCertificates) {
    if (!present.has(certificate.name)) continue
    await renewCertificate({ platform, crypto: nodeCrypto(), folders, certificate })
    terminal.write(`[upgrade/certs] Renewed ${certificate.longName}\n`)
  }
}

type HostRun = Pick<UpgradeRun, 'platform' | 'terminal' | 'folder'> & {
  readonly flags: { readonly 'certificate-renewal'?: boolean }
}

/** The kubelet reads it at its next start; the file of before is kept. */
export async function upgradeKubeletConfig({
  platform,
  terminal,
  folder,
}: Pick<UpgradeRun, 'platform' | 'terminal' | 'folder'>): Promise<void> {
  const { files } = platform
  const path = join(folder, 'kubelet', 'config.yaml')
  await using cluster = await connectCluster(platform, { kubeconfig: join(folder, 'kubelet.conf') })
  const shared = await fetchKubeletConfiguration(cluster.client)
  const text = formatHostKubeletConfiguration(shared, { folder, certificatesDir: join(folder, 'pki') })
  const current = Buffer.from(await files.read(path)).toString()
  if (current === text) {
    terminal.write('[upgrade/kubelet-config] The kubelet configuration for this node is unchanged\n')
    return
  }
  await files.write(`${path}.before-upgrade`, current, { mode: 0o600 })
  await files.write(path, text, { mode: 0o600 })
  terminal.write(
    '[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!\n',
  )
}
