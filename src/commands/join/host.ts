/** The steps of `k8ts join` after discovery. */
import { join } from 'node:path'
import { isTrue } from '#/api/conditions.ts'
import { configMaps, nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { JoinConfiguration } from '#/kubeadm/configuration.ts'
import { apiServerName, localApiServerUrl, type PodNetworkBackend } from '#/kubeadm/host-processes.ts'
import { writeJoinFiles } from '#/kubeadm/join-files.ts'
import type { ClusterAccess } from '#/kubeadm/kubeconfig-file.ts'
import { fetchControlPlaneForm, fetchKubeletConfiguration } from '#/kubeadm/stored-configuration.ts'
import type { Platform } from '#/platform/node.ts'
import { ControlPlaneHost } from '../control-plane-host.ts'
import { startKubelet, waitForNode, writeLocalKubeconfig } from '../host-phases.ts'
import {
  prepareControlPlane,
  requireEtcdPorts,
  requireSharedStore,
  startControlPlane,
} from './control-plane.ts'
import type { JoinFlags } from './flags.ts'
import { bootHint } from '../start-host.ts'
import { joinSettings } from './settings.ts'

export interface JoinHostOptions {
  readonly platform: Platform
  readonly terminal: Terminal
  readonly folder: string
  readonly flags: JoinFlags
  readonly configuration: JoinConfiguration
  /** With the rights of the bootstrap token. */
  readonly client: Client
  readonly cluster: ClusterAccess
  readonly token: string
  readonly caCertPath: string
}

export async function joinHost(options: JoinHostOptions): Promise<void> {
  const { platform, terminal, folder, flags, configuration, client, cluster, token, caCertPath } = options
  const settings = await joinSettings(client, { folder, configuration })
  const isControlPlane = configuration.controlPlane !== undefined
  const phase = { platform, terminal, client, configuration, settings }
  const usual = isControlPlane ? await fetchControlPlaneForm(client) : undefined
  const controlPlane = new ControlPlaneHost({ platform, settings, flags, usual })
  await refuseExistingNode(client, settings.nodeName)
  if (isControlPlane) {
    requireSharedStore(settings)
    await requireEtcdPorts(platform, settings)
    await prepareControlPlane({ ...phase, part: 'all' })
    await controlPlane.prepare()
    await writeLocalKubeconfig(platform, settings, 'dns.conf')
  }
  terminal.write('[kubelet-start] Starting the kubelet and the other processes of this host\n')
  const local = { ...cluster, server: localApiServerUrl, serverName: apiServerName }
  const bootstrap = await writeJoinFiles(platform, { folder, caCertPath, cluster: local, token })
  await startKubelet({
    platform,
    settings,
    configuration: await fetchKubeletConfiguration(client),
    podNetwork: await fetchPodNetwork(client),
    servers: [new URL(cluster.server).host],
    hasDns: isControlPlane && settings.hasDns,
  })
  terminal.write('[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap\n')
  await waitForNode({ platform, settings }, client)
  await platform.files.remove(bootstrap)
  if (isControlPlane) await startControlPlane({ ...phase, controlPlane })
  const role = isControlPlane ? 'a control plane of the cluster' : 'the cluster'
  terminal.write(`\nThis host has joined ${role} as node ${settings.nodeName}.\n`)
  if (isControlPlane) terminal.write(`\n  export KUBECONFIG=${join(folder, 'admin.conf')}\n`)
  terminal.write(await bootHint(platform, folder))
}

/** Two kubelets with one name would overwrite each other's status. */
async function refuseExistingNode(client: Client, name: string): Promise<void> {
  const node = await client.find(nodes, { name })
  if (!isTrue(node?.status?.conditions, 'Ready')) return
  const way = 'delete the existing Node, or set another --node-name'
  throw new Error(`a Node with name ${name} and status Ready already exists in the cluster: ${way}`)
}

async function fetchPodNetwork(client: Client): Promise<PodNetworkBackend> {
  const { data } = (await client.find(configMaps, { namespace: 'kube-system', name: 'kube-proxy' })) ?? {}
  return (data?.['pod-network'] ?? 'none') as PodNetworkBackend
}
