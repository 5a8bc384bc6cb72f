/** The sockets of shims: those of a whole machine are in one place, and a shim that is killed leaves its own there. */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import type { NodeFolders } from './node-folders.ts'

/** Once all shims of the node are gone. */
export async function removeShimSockets(
  { files }: Pick<Platform, 'files'>,
  { containerd }: Pick<NodeFolders, 'containerd'>,
): Promise<void> {
  const tasks = join(containerd, 'state/io.containerd.runtime.v2.task/k8s.io')
  for (const id of await files.list(tasks).catch(() => [])) {
    // The file was another one before containerd 2.0.
    for (const name of ['address', 'bootstrap.json']) {
      const bytes = await files.read(join(tasks, id, name)).catch(() => '')
      const path = socketPath.exec(Buffer.from(bytes).toString())?.[1]
      if (path !== undefined) await files.remove(path)
    }
  }
}

const socketPath = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/
