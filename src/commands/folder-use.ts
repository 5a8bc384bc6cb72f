/** A data folder is that of k8ts up, or that of a host of k8ts init and k8ts join: one must not damage the other. */
import { join } from 'node:path'
import { processesFolder, readHostProcessRecords } from '#/cluster/host-process-records.ts'
import { readKubeletRecord } from '#/cluster/kubelet-record.ts'
import type { Files } from '#/platform/platform.ts'

/** For a host that is to become part of a cluster. */
export async function requireUnusedFolder(files: Files, folder: string): Promise<void> {
  if ((await readHostProcessRecords(files, folder)).length > 0) {
    const reason = `it has processes in ${processesFolder(folder)}`
    throw new Error(`this host is already part of a cluster, ${reason}: run k8ts reset --force first`)
  }
  for (const name of ['store', 'network.json'])
    if ((await files.stat(join(folder, name))) !== undefined)
      throw new Error(`${folder} has the data of k8ts up: run k8ts down first, or set another --data-dir`)
}

/** For `k8ts up` and `k8ts down`. */
export async function requireNoHost(files: Files, folder: string): Promise<void> {
  const isHost = (await readHostProcessRecords(files, folder)).length > 0
  if (!isHost && (await readKubeletRecord(files, folder)) === undefined) return
  throw new Error(
    `${folder} is that of a host of k8ts init or k8ts join: run k8ts reset, or set another --data-dir`,
  )
}
