/** Reads the versions that run in a cluster. */
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import type { Client } from '#/client/client.ts'
import { joinHostPort } from '#/kubeadm/init-settings.ts'
import type { ApiServerVersion, UpgradeFacts } from '#/kubeadm/upgrade-plan.ts'
import type { UpgradeVersions } from '#/kubeadm/upgrade-versions.ts'
import type { Platform } from '#/platform/node.ts'
import { connectCluster } from '../cluster-connection.ts'
import manifest from '../../../package.json' with { type: 'json' }

/** Of this program: `v1.36.4+k8ts.0.1.0`. */
export const programVersion = gitVersion(manifest)

export interface ClusterFlags {
  readonly 'kubeconfig'?: string
  readonly 'data-dir'?: string
}

/** Rejects when an API server does not answer. */
export async function readUpgradeFacts(
  platform: Platform,
  flags: ClusterFlags,
  isOneProcess: boolean,
): Promise<UpgradeFacts> {
  await using cluster = await connectCluster(platform, flags)
  const { client, server } = cluster
  const { items } = await client.listAll(nodes)
  const slice = await client.find(endpointSlices, { namespace: 'default', name: 'kubernetes' })
  const addresses = slice?.endpoints?.flatMap(endpoint => endpoint.addresses) ?? []
  const port = slice?.ports?.[0]?.port
  // The address of the only API server need not be reachable from here.
  if (addresses.length < 2 || port === undefined) {
    const [address = new URL(server).hostname] = addresses
    return { isOneProcess, nodes: items, apiServers: [{ address, version: await readVersion(client) }] }
  }
  const apiServers: ApiServerVersion[] = []
  for (const address of addresses) {
    await using other = await connectCluster(platform, {
      ...flags,
      server: `https://${joinHostPort(address, port)}`,
    })
    apiServers.push({ address, version: await readVersion(other.client) })
  }
  return { isOneProcess, nodes: items, apiServers }
}

export async function readVersion(client: Client): Promise<string> {
  const response = await client.raw({ method: 'GET', path: '/version' })
  const { gitVersion: version } = (await response.value()) as { readonly gitVersion: string }
  return version
}

export function kubeletVersions({ nodes: all }: Pick<UpgradeFacts, 'nodes'>): UpgradeVersions['kubelets'] {
  return new Map(
    all.map(({ metadata, status }) => [metadata.name ?? '', status?.nodeInfo?.kubeletVersion ?? 'v0.0.0']),
  )
}
