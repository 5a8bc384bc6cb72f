/** `k8ts reset`: undoes `k8ts init` or `k8ts join` on this host. */
import { join } from 'node:path'
import { boolFlag, describeFlags, parseFlags, UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import { processFlag, type HostProcessRecord } from '#/cluster/host-process-records.ts'
import { leaveEtcdCluster } from '#/cluster/leave-etcd-cluster.ts'
import { kubeletFolder, readKubeletRecord } from '#/cluster/kubelet-record.ts'
import { removeHost } from '#/cluster/remove-host.ts'
import { readHostComponents } from '#/cluster/static-pod-manifests.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { nodeLinux, nodePlatform, type Platform } from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { openEtcdMembers } from './host-etcd.ts'
import { stopOwner } from './stop-owner.ts'

const resetFlags = {
  force: boolFlag('confirm that all data of this host is deleted'),
  ...dataFolderFlag,
}

const help = `Usage: k8ts reset --force [--data-dir DIR]

Undoes k8ts init, k8ts join or k8ts kubelet on this host: removes its etcd member from the cluster, stops its
processes and its containers, and removes its networks, mounts, cgroups and DIR. The Node object remains: kubectl drain
before, and kubectl delete node after it.

${describeFlags(resetFlags)}
Examples:
  k8ts reset --force
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, resetFlags)
    const folder = dataFolder(flags)
    const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
    const records = await readHostComponents(platform.files, folder)
    const hasKubelet = (await readKubeletRecord(platform.files, folder)) !== undefined
    if (records.length === 0 && !hasKubelet) {
      terminal.write(`[reset] ${folder} has no host of a cluster; k8ts down removes what k8ts up has made\n`)
      return 0
    }
    if (flags.force !== true)
      throw new UsageError(`all data in ${folder} and all containers of this host are deleted: add --force`)
    await removeEtcdMember(platform, terminal, { folder, records })
    terminal.write('[reset] Stopping the processes of this host\n')
    // A kubelet without k8ts host run has a lock of its own.
    for (const locked of [folder, kubeletFolder(folder)]) await stopOwner(platform, locked, () => undefined)
    const onProgress = (text: string): void => terminal.write(`[reset] ${text}\n`)
    await removeHost({ platform, linux: await nodeLinux(), folder, onProgress })
    return 0
  },
}

interface ResetHost {
  readonly folder: string
  readonly records: readonly HostProcessRecord[]
}

/** A cluster without quorum cannot remove a member: that must not prevent the reset of a host. */
async function removeEtcdMember(
  platform: Platform,
  terminal: Terminal,
  { folder, records }: ResetHost,
): Promise<void> {
  if (records.every(({ name }) => name !== 'etcd')) return
  const flag = (name: string): readonly string[] => processFlag(records, 'etcd', name)?.split(',') ?? []
  const onProgress = (line: string): void => terminal.write(`[remove-etcd-member] ${line}\n`)
  try {
    const endpoints = [...flag('listen-client-urls'), ...flag('advertise-client-urls')]
    await using members = await openEtcdMembers(platform, join(folder, 'pki'), endpoints)
    const peerUrls = flag('initial-advertise-peer-urls')
    const left = await leaveEtcdCluster({ platform, members, peerUrls, onProgress, timeoutMs })
    const results = {
      'removed': 'Removed the etcd member of this host',
      'absent': 'The etcd member of this host is not in the cluster any more',
      'last-member': 'This is the last etcd member: the cluster ends with it',
    }
    onProgress(results[left])
  } catch (error) {
    const way = 'remove it with etcdctl member remove on another control plane'
    terminal.writeError(`[remove-etcd-member] ${messageOf(error)}; ${way}\n`)
  }
}

const timeoutMs = 30_000
