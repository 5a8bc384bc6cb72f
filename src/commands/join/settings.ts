import type { Client } from '#/client/client.ts'
import type { JoinConfiguration } from '#/kubeadm/configuration.ts'
import type { InitSettings } from '#/kubeadm/init-settings.ts'
import { fetchClusterConfiguration, planJoin } from '#/kubeadm/stored-configuration.ts'
import { machineNames } from '#/platform/node.ts'
import { kubeadmVersion } from '../configuration-file.ts'

export interface JoinSettingsOptions {
  readonly folder: string
  readonly configuration: JoinConfiguration
}

/** The configuration of the cluster with that of this host. */
export async function joinSettings(
  client: Client,
  { folder, configuration: join }: JoinSettingsOptions,
): Promise<InitSettings> {
  const [hostname = 'node', address = '127.0.0.1'] = machineNames()
  const cluster = await fetchClusterConfiguration(client)
  const kubernetesVersion = `${kubeadmVersion}.0`
  return planJoin({ folder, join, cluster, kubernetesVersion, machine: { hostname, address } })
}
