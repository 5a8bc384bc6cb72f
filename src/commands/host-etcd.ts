/** The etcd member of a control plane host, for the commands that start, join and remove it. */
import { join } from 'node:path'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { EtcdMembers } from '#/store/etcd-members.ts'
import { planEtcdMember, etcdPorts, type EtcdMemberPlan } from '#/kubeadm/etcd-member.ts'
import { readEtcdProgram } from '#/kubeadm/etcd-program.ts'
import { joinHostPort, type InitSettings } from '#/kubeadm/init-settings.ts'
import { loadGrpc, nodeLinux, type Platform } from '#/platform/node.ts'

/** Without `initialCluster`, of the first member of a new cluster. */
export async function planHostEtcd(
  platform: Platform,
  settings: InitSettings,
  initialCluster?: string,
): Promise<EtcdMemberPlan> {
  const { machine } = await nodeLinux()
  const program = await readEtcdProgram({ platform, architecture: machine.architecture })
  const local = settings.clusterConfiguration.etcd?.local ?? {}
  return planEtcdMember({ ...settings, program, local, initialCluster })
}

/** As the client that checks the health of the members, which may also change them. */
export async function openEtcdMembers(
  platform: Platform,
  certificatesDir: string,
  endpoints: readonly string[],
): Promise<EtcdMembers> {
  const read = async (name: string): Promise<Uint8Array> =>
    platform.files.read(join(certificatesDir, 'etcd', name))
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'healthcheck-client.crt', 'healthcheck-client.key'].map(read),
  )
  const tls = { ca: ca!, cert: cert!, key: key! }
  return new EtcdMembers({ platform, connect: await loadGrpc(), endpoints, tls })
}

/** Client URLs of the members on the hosts of the API servers. */
export async function etcdEndpoints(client: Client): Promise<readonly string[]> {
  const { endpoints = [] } = await client.get(endpointSlices, { namespace: 'default', name: 'kubernetes' })
  return endpoints.flatMap(({ addresses }) =>
    addresses.map(address => `https://${joinHostPort(address, etcdPorts.client)}`),
  )
}
