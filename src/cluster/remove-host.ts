/**
 * Removes everything that a stopped host of a cluster has left on the machine: containers in any state, network,
 * mounts, cgroups and its folder. Idempotent: it may be interrupted and repeated.
 */
import { join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { processFlag, readHostProcessRecords } from './host-process-records.ts'
import { readKubeletRecord } from './kubelet-record.ts'
import { cniNetworkOf } from './node-networks.ts'
import { removeHostNetwork } from './proxy-process.ts'
import { removeContainers } from './remove-containers.ts'
import { removeFolder } from './remove-folder.ts'

export interface RemoveHostOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly folder: string
  readonly onProgress: (text: string) => void
}

export async function removeHost({ platform, linux, folder, onProgress }: RemoveHostOptions): Promise<void> {
  const records = await readHostProcessRecords(platform.files, folder)
  const record = await readKubeletRecord(platform.files, folder)
  if (record !== undefined) {
    const { cgroupRoot, rootDirectory, cniFolder } = record
    await removeContainers({ platform, linux, folder, cgroupRoot, rootDirectory })
    onProgress('Removed containers')
    const podCidrs = processFlag(records, 'kube-proxy', 'cluster-cidr')?.split(',') ?? []
    await removeHostNetwork(
      { platform, linux, folder, podCidrs },
      { name: cniNetworkOf(cgroupRoot), cniFolder },
    )
    onProgress('Removed networks')
  }
  if (record !== undefined && !record.rootDirectory.startsWith(join(folder, '/')))
    await removeFolder(platform, record.rootDirectory)
  await removeFolder(platform, folder)
  onProgress(`Removed ${folder}`)
}
