/** The phase `upload-config` of `init`: the configuration of the cluster and of its kubelets, for joining machines. */
import { join } from 'node:path'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import type { Client } from '#/client/client.ts'
import { formatConfiguration, type ClusterConfiguration } from './configuration.ts'
import type { InitSettings } from './init-settings.ts'
import { applyObject, applyReaderRole, nodesAndBootstrappers } from './apply-objects.ts'
import type { ControlPlaneForm } from './static-pod.ts'

const namespace = 'kube-system'

export const kubeadmConfigMap = { namespace, name: 'kubeadm-config' }
export const kubeletConfigMap = { namespace, name: 'kubelet-config' }

/** Beside kubeadm's keys; only for another form than processes. */
export const controlPlaneFormKey = 'control-plane-as'

/** Further control planes have the same form by default. */
export async function uploadKubeadmConfig(
  client: Client,
  settings: InitSettings,
  form: ControlPlaneForm = 'process',
): Promise<void> {
  const text = formatConfiguration('ClusterConfiguration', settings.clusterConfiguration)
  await applyConfigMap(client, kubeadmConfigMap.name, {
    ClusterConfiguration: text,
    ...(form !== 'process' && { [controlPlaneFormKey]: form }),
  })
  await applyReaderRole(client, {
    name: 'kubeadm:nodes-kubeadm-config',
    namespace,
    resource: 'configmaps',
    resourceName: kubeadmConfigMap.name,
    subjects: nodesAndBootstrappers,
  })
}

/** Records the version to which the cluster was upgraded. */
export async function updateKubernetesVersion(
  client: Client,
  configuration: ClusterConfiguration,
  kubernetesVersion: string,
): Promise<void> {
  const text = formatConfiguration('ClusterConfiguration', { ...configuration, kubernetesVersion })
  await applyConfigMap(client, kubeadmConfigMap.name, { ClusterConfiguration: text })
}

export async function uploadKubeletConfig(client: Client, settings: InitSettings): Promise<void> {
  await applyConfigMap(client, kubeletConfigMap.name, { kubelet: formatKubeletConfiguration(settings) })
  await applyReaderRole(client, {
    name: 'kubeadm:kubelet-config',
    namespace,
    resource: 'configmaps',
    resourceName: kubeletConfigMap.name,
    subjects: nodesAndBootstrappers,
  })
}

/** The KubeletConfiguration of a host: that of the cluster, with the paths of the host. */
export function formatHostKubeletConfiguration(
  text: string,
  { folder, certificatesDir }: Pick<InitSettings, 'folder' | 'certificatesDir'>,
): string {
  const shared = parseYaml(text) as JsonObject
  const authentication = (shared['authentication'] ?? {}) as JsonObject
  return stringifyYaml({
    staticPodPath: join(folder, 'manifests'),
    ...shared,
    authentication: { x509: { clientCAFile: join(certificatesDir, 'ca.crt') }, ...authentication },
  })
}

/** The KubeletConfiguration of all nodes; paths are those of each host, and so left out. */
export function formatKubeletConfiguration({ kubelet, clusterDns, dnsDomain }: InitSettings): string {
  return stringifyYaml({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: 'Webhook' },
    clusterDNS: [...clusterDns],
    clusterDomain: dnsDomain,
    rotateCertificates: true,
    serverTLSBootstrap: true,
    ...kubelet,
  })
}

async function applyConfigMap(
  client: Client,
  name: string,
  data: Readonly<Record<string, string>>,
): Promise<void> {
  await applyObject(client, configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name },
    data,
  })
}
