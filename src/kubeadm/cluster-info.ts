/**
 * The ConfigMap `cluster-info`, which a joining machine reads over a connection that it cannot trust yet. Its
 * signatures are added by the bootstrap signer of the controller manager.
 */
import { timingSafeEqual } from 'node:crypto'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { signDetached } from '#/base/detached-signature.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { Client } from '#/client/client.ts'
import type { BootstrapToken } from './bootstrap-token.ts'
import { applyObject, applyReaderRole } from './apply-objects.ts'

export const clusterInfoKey = { namespace: 'kube-public', name: 'cluster-info' }

export interface ClusterInfoOptions {
  /** The URL by which other machines reach the cluster. */
  readonly server: string
  /** PEM. */
  readonly caCertificates: string
}

/** Anonymous users may read the ConfigMap. */
export async function publishClusterInfo(client: Client, options: ClusterInfoOptions): Promise<void> {
  await applyObject(client, configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: clusterInfoKey,
    data: { kubeconfig: clusterInfoKubeconfig(options) },
  })
  await applyReaderRole(client, {
    name: 'kubeadm:bootstrap-signer-clusterinfo',
    namespace: clusterInfoKey.namespace,
    resource: 'configmaps',
    resourceName: clusterInfoKey.name,
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:anonymous' }],
  })
}

/** A kubeconfig with a cluster only: there is one user for each machine. */
function clusterInfoKubeconfig({ server, caCertificates }: ClusterInfoOptions): string {
  const authority = Buffer.from(caCertificates).toString('base64')
  return stringifyYaml({
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': [{ name: '', cluster: { 'certificate-authority-data': authority, server } }],
    'contexts': null,
    'current-context': '',
    'users': null,
  })
}

export type ClusterInfo =
  /** Signed with the token, so it comes from a cluster that knows the token. */
  | { readonly type: 'valid'; readonly kubeconfig: string }
  /** The token is unknown to the cluster, has expired, or is so new that the signature is not there yet. */
  | { readonly type: 'unsigned' }
  | { readonly type: 'invalid'; readonly reason: string }

export function validateClusterInfo(
  data: Readonly<Record<string, string>> | undefined = {},
  { id, secret }: Pick<BootstrapToken, 'id' | 'secret'>,
): ClusterInfo {
  const kubeconfig = Object.hasOwn(data, 'kubeconfig') ? data['kubeconfig'] : undefined
  if (!kubeconfig) {
    const reason = 'ConfigMap cluster-info has no kubeconfig: the cluster is not set up for bootstrap tokens'
    return { type: 'invalid', reason }
  }
  const signature = Object.hasOwn(data, `jws-kubeconfig-${id}`) ? data[`jws-kubeconfig-${id}`]! : ''
  if (signature === '') return { type: 'unsigned' }
  const expected = Buffer.from(signDetached(kubeconfig, { keyId: id, secret }))
  const given = Buffer.from(signature)
  if (given.length === expected.length && timingSafeEqual(given, expected))
    return { type: 'valid', kubeconfig }
  const reason =
    "failed to verify JWS signature of received cluster info object, can't trust this API Server: compare the token"
  return { type: 'invalid', reason }
}
