/**
 * The configuration that `upload-config` has stored in the cluster, for machines that join. It is read leniently:
 * kubeadm or another version may have written it, with fields that have no meaning here.
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { Client, ObjectKey } from '#/client/client.ts'
import {
  readStoredClusterConfiguration,
  type ClusterConfiguration,
  type JoinConfiguration,
} from './configuration.ts'
import { planInit, type InitSettings, type InitSettingsOptions } from './init-settings.ts'
import type { ControlPlaneForm } from './static-pod.ts'
import { controlPlaneFormKey, kubeadmConfigMap, kubeletConfigMap } from './upload-config.ts'

export async function fetchClusterConfiguration(client: Client): Promise<ClusterConfiguration> {
  return readStoredClusterConfiguration(await fetchData(client, kubeadmConfigMap, 'ClusterConfiguration'))
}

/** How the components of the first control plane run. */
export async function fetchControlPlaneForm(client: Client): Promise<ControlPlaneForm> {
  const { data = {} } = await client.get(configMaps, kubeadmConfigMap)
  return data[controlPlaneFormKey] === 'static-pod' ? 'static-pod' : 'process'
}

/** The text of the KubeletConfiguration of all nodes. */
export function fetchKubeletConfiguration(client: Client): Promise<string> {
  return fetchData(client, kubeletConfigMap, 'kubelet')
}

async function fetchData(client: Client, at: ObjectKey, key: string): Promise<string> {
  try {
    const { data = {} } = await client.get(configMaps, at)
    if (Object.hasOwn(data, key)) return data[key]!
    throw new Error(
      `ConfigMap ${at.name} has no ${key}: run k8ts init phase upload-config on a control plane`,
    )
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    const way = 'run k8ts init phase upload-config on a control plane'
    throw new Error(`ConfigMap ${at.name} was not found in namespace ${at.namespace}: ${way}`, {
      cause: error,
    })
  }
}

export interface JoinOptions extends Omit<InitSettingsOptions, 'configuration'> {
  /** The stored one. */
  readonly cluster: ClusterConfiguration
  readonly join: JoinConfiguration
}

/** The settings of a further host: those of the cluster, with the folder and the address of this host. */
export function planJoin({ cluster, join, ...options }: JoinOptions): InitSettings {
  const { certificatesDir: _otherHost, ...shared } = cluster
  const { nodeRegistration, controlPlane } = join
  const init = {
    // Only control planes are tainted when nothing else is said.
    nodeRegistration: { ...(controlPlane ? {} : { taints: [] }), ...nodeRegistration },
    ...(controlPlane?.localAPIEndpoint && { localAPIEndpoint: controlPlane.localAPIEndpoint }),
  }
  return planInit({ ...options, configuration: { cluster: shared, init, kubelet: undefined } })
}
