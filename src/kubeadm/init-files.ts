/** The phases `certs` and `kubeconfig` of `init`: the files in the folder of the host. */
import { join } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import { formatIp } from '#/api/net/ip.ts'
import {
  ensureClusterCertificates,
  type CertificateOptions,
  type ClusterCertificates,
} from './certificates.ts'
import type { CertificateProfile } from './certificates/profile.ts'
import { splitEndpoint } from './configuration.ts'
import { ensureEtcdCertificates } from './etcd-certificates.ts'
import {
  clusterAdministrator,
  controllerManager,
  nodeIdentity,
  scheduler,
  superAdministrator,
} from './identities.ts'
import { joinHostPort, type InitSettings } from './init-settings.ts'
import { ensureKubeconfigFile } from './kubeconfig-file.ts'

/** Existing files are kept if they are still valid. */
export async function runCertsPhase(
  options: CertificateOptions,
  settings: InitSettings,
): Promise<ClusterCertificates> {
  const { certificatesDir: folder, validity, nodeName, advertiseAddress, etcd } = settings
  const made = { ...options, validity }
  const certificates = await ensureClusterCertificates({
    ...made,
    folder,
    serverNames: apiServerNames(settings),
  })
  if (etcd.type === 'local') {
    const names = [advertiseAddress, ...etcd.serverCertSANs, ...etcd.peerCertSANs]
    await ensureEtcdCertificates({ ...made, folder, nodeName, names })
  }
  return certificates
}

/** Subject alternative names of the API server's certificate, in addition to those of every cluster. */
export function apiServerNames(settings: InitSettings): readonly string[] {
  const { nodeName, advertiseAddress, controlPlaneEndpoint, serviceSubnets, certSANs } = settings
  const { host } = splitEndpoint(controlPlaneEndpoint)!
  const serviceAddresses = serviceSubnets.map(each => formatIp(nthAddress(parseCidr(each)!, 1)!))
  const names = [nodeName, advertiseAddress, host, ...serviceAddresses, ...certSANs]
  // An address is compared in its canonical form.
  return [...new Set(names.map(name => (parseIp(name) === undefined ? name : formatIp(parseIp(name)!))))]
}

/** The kubeconfigs that `init` writes, by file name. */
export const kubeconfigFiles = [
  'admin.conf',
  'super-admin.conf',
  'kubelet.conf',
  'controller-manager.conf',
  'scheduler.conf',
] as const

export type KubeconfigFileName = (typeof kubeconfigFiles)[number]

/** Clients of this host use its own API server; the others reach the cluster by the control plane endpoint. */
export async function runKubeconfigPhase(
  options: CertificateOptions,
  settings: InitSettings,
  {
    ca,
    files = kubeconfigFiles,
  }: Pick<ClusterCertificates, 'ca'> & { readonly files?: readonly KubeconfigFileName[] },
): Promise<void> {
  const { folder, clusterName, nodeName, advertiseAddress, bindPort, controlPlaneEndpoint, validity } =
    settings
  const shared = `https://${controlPlaneEndpoint}`
  const local = `https://${joinHostPort(advertiseAddress, bindPort)}`
  const users: Readonly<Record<KubeconfigFileName, readonly [CertificateProfile, string]>> = {
    'admin.conf': [clusterAdministrator, shared],
    'super-admin.conf': [superAdministrator, shared],
    'kubelet.conf': [nodeIdentity(nodeName), shared],
    'controller-manager.conf': [controllerManager, local],
    'scheduler.conf': [scheduler, local],
  }
  for (const name of files) {
    const [identity, server] = users[name]
    await ensureKubeconfigFile({
      ...options,
      validity,
      path: join(folder, name),
      ca,
      server,
      identity,
      clusterName,
    })
  }
}
