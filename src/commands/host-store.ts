/** The etcd of a host of k8ts init or k8ts join, for commands that are given no store. */
import { join } from 'node:path'
import { processFlag, processLogPath, readHostProcessRecords } from '#/cluster/host-process-records.ts'
import { waitForEtcd } from '#/cluster/wait-for-etcd.ts'
import { etcdPorts } from '#/kubeadm/etcd-member.ts'
import type { Files, Platform } from '#/platform/platform.ts'
import { openEtcdMembers } from './host-etcd.ts'
import type { EtcdConnection } from './opened-store.ts'

/** Undefined if the folder is not that of a host with an etcd member, or of an API server with an external etcd. */
export async function hostEtcdConnection(
  platform: Platform,
  folder: string,
): Promise<EtcdConnection | undefined> {
  const { files } = platform
  const records = await readHostProcessRecords(files, folder)
  const ofApiServer = (flag: string): string | undefined => processFlag(records, 'kube-apiserver', flag)
  const servers = ofApiServer('etcd-servers')
  if (servers !== undefined) {
    const paths = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'].map(ofApiServer)
    return { endpoints: servers.split(','), tls: await readTls(files, paths) }
  }
  const inEtcd = (name: string): string => join(folder, 'pki', 'etcd', name)
  const paths = ['ca.crt', 'healthcheck-client.crt', 'healthcheck-client.key'].map(inEtcd)
  if ((await files.stat(paths[1]!)) === undefined) return undefined
  // A static pod has no record.
  const urls = processFlag(records, 'etcd', 'listen-client-urls') ?? `https://127.0.0.1:${etcdPorts.client}`
  const [endpoint = ''] = urls.split(',')
  await using members = await openEtcdMembers(platform, join(folder, 'pki'), [endpoint])
  const logPath = processLogPath(folder, 'etcd')
  // It may have been started just before.
  await waitForEtcd({ platform, members, endpoint, logPath, onProgress: () => undefined, timeoutMs: startMs })
  return { endpoints: [endpoint], tls: await readTls(files, paths) }
}

const startMs = 30_000

async function readTls(
  files: Files,
  paths: readonly (string | undefined)[],
): Promise<NonNullable<EtcdConnection['tls']>> {
  const [ca, cert, key] = await Promise.all(paths.map(async path => path && files.read(path)))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}
