/** A further control plane: its files, its etcd member and its processes. */
import { join } from 'node:path'
import { UsageError } from '#/base/flags.ts'
import type { Client } from '#/client/client.ts'
import { processLogPath } from '#/cluster/host-process-records.ts'
import { joinEtcdCluster, promoteEtcdMember } from '#/cluster/join-etcd-cluster.ts'
import { waitForEtcd } from '#/cluster/wait-for-etcd.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { JoinConfiguration } from '#/kubeadm/configuration.ts'
import { etcdPorts } from '#/kubeadm/etcd-member.ts'
import { runCertsPhase, runKubeconfigPhase } from '#/kubeadm/init-files.ts'
import { localApiServerUrl, planControlPlaneProcesses } from '#/kubeadm/host-processes.ts'
import type { InitSettings } from '#/kubeadm/init-settings.ts'
import { markControlPlane } from '#/kubeadm/mark-control-plane.ts'
import { findTakenPorts } from '#/kubeadm/read-machine-facts.ts'
import { downloadCerts } from '#/kubeadm/upload-certs.ts'
import { nodeCrypto, type Platform } from '#/platform/node.ts'
import { connectCluster } from '../cluster-connection.ts'
import type { ControlPlaneHost } from '../control-plane-host.ts'
import { etcdEndpoints, openEtcdMembers, planHostEtcd } from '../host-etcd.ts'
import { waitForApiServer, waitForComponents } from '../host-phases.ts'

export const controlPlaneParts: readonly string[] = ['all', 'download-certs', 'certs', 'kubeconfig']

export interface ControlPlanePreparation {
  readonly platform: Platform
  readonly terminal: Terminal
  readonly client: Client
  readonly configuration: JoinConfiguration
  readonly settings: InitSettings
  /** `all`, or the only step to run. */
  readonly part: string
}

export async function prepareControlPlane(options: ControlPlanePreparation): Promise<void> {
  const { platform, terminal, client, configuration, settings, part } = options
  const { certificatesDir, etcd } = settings
  if (part === 'all' || part === 'download-certs') {
    const { certificateKey } = configuration.controlPlane ?? {}
    if (certificateKey === undefined) throw new UsageError('required flag --certificate-key not set')
    const paths = await downloadCerts({ client, platform, certificatesDir, certificateKey, etcd })
    for (const path of paths) terminal.write(`[download-certs] Wrote ${path}\n`)
  }
  if (part === 'download-certs') return
  // Without the downloaded ones, new certificate authorities would be made.
  if ((await platform.files.stat(join(certificatesDir, 'ca.key'))) === undefined)
    throw new Error(
      `${certificatesDir}/ca.key is missing: run k8ts join phase control-plane-prepare download-certs`,
    )
  const made = { platform, crypto: nodeCrypto() }
  const { ca } = await runCertsPhase(made, settings)
  terminal.write(`[certs] Valid certificates and keys now exist in "${certificatesDir}"\n`)
  if (part === 'certs') return
  const files = ['admin.conf', 'controller-manager.conf', 'scheduler.conf'] as const
  await runKubeconfigPhase(made, settings, { ca, files })
  for (const name of files) terminal.write(`[kubeconfig] Writing "${name}" kubeconfig file\n`)
}

/** A store in the process of another API server cannot be shared. */
export function requireSharedStore({ etcd }: InitSettings): void {
  if (etcd.type !== 'embedded') return
  const way = 'several control planes require k8ts init --local-etcd'
  throw new Error(`the store of this cluster is embedded in its API server: ${way}`)
}

/** Only the configuration of the cluster says if this host gets an etcd member. */
export async function requireEtcdPorts({ network }: Platform, { etcd }: InitSettings): Promise<void> {
  if (etcd.type !== 'local') return
  const [taken] = await findTakenPorts(network, [etcdPorts.client, etcdPorts.peer])
  if (taken === undefined) return
  const way = `stop the process that ss -ltnp sport = :${taken} shows`
  throw new Error(`port ${taken} is in use, which etcd on this host needs: ${way}`)
}

export interface ControlPlaneStart extends Omit<ControlPlanePreparation, 'part'> {
  readonly controlPlane: ControlPlaneHost
}

/** Starts the control plane of this host, whose kubelet runs and whose files are prepared. */
export async function startControlPlane(options: ControlPlaneStart): Promise<void> {
  const { platform, terminal, settings, controlPlane } = options
  const { folder } = settings
  // The API server of this host does not run yet.
  await using cluster = await connectCluster(platform, { 'data-dir': folder, 'server': localApiServerUrl })
  if (settings.etcd.type === 'local') await startEtcd(options, cluster.client)
  const processes = planControlPlaneProcesses(settings)
  const form = await controlPlane.write(processes)
  for (const { name } of processes) terminal.write(`[control-plane] Writing the ${form} of ${name}\n`)
  await waitForApiServer({ platform, settings })
  await waitForComponents({ platform, settings })
  await markControlPlane(cluster.client, settings)
  terminal.write(`[mark-control-plane] Marking the node ${settings.nodeName} as control-plane\n`)
}

async function startEtcd(
  { platform, terminal, settings, controlPlane }: ControlPlaneStart,
  client: Client,
): Promise<void> {
  const { certificatesDir, folder } = settings
  const endpoints = await etcdEndpoints(client)
  const onProgress = (line: string): void => terminal.write(`[etcd] ${line}\n`)
  await using members = await openEtcdMembers(platform, certificatesDir, endpoints)
  const operation = { platform, members, onProgress }
  const member = await planHostEtcd(platform, settings)
  const { id, initialCluster } = await joinEtcdCluster({ ...operation, files: platform.files, member })
  onProgress(`Added member ${member.name} as a learner`)
  const { command, environment, localUrl } = await planHostEtcd(platform, settings, initialCluster)
  await controlPlane.write([{ name: 'etcd', command, environment }])
  const logPath = processLogPath(folder, 'etcd')
  await promoteEtcdMember({ ...operation, member: { id, name: member.name }, logPath })
  onProgress(`Promoted member ${member.name}`)
  await waitForEtcd({ ...operation, endpoint: localUrl, logPath })
}
