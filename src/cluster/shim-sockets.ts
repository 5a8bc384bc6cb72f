/**
 * Sockets of containerd shims. They are in one directory for the whole machine, and a killed shim leaves its
 * socket behind.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import type { NodeFolders } from './node-folders.ts'

/** Must be called after all shims of the node have exited. */
export async function removeShimSockets(
  { files }: Pick<Platform, 'files'>,
  { containerd }: Pick<NodeFolders, 'containerd'>,
): Promise<void> {
  const tasks = join(containerd, 'state/io.containerd.runtime.v2.task/k8s.io')
  for (const id of await files.list(tasks).catch(() => [])) {
    // The first is the file of containerd before 2.0.
    for (const name of ['address', 'bootstrap.json']) {
      const bytes = await files.read(join(tasks, id, name)).catch(() => '')
      const path = socketPath.exec(Buffer.from(bytes).toString())?.[1]
      if (path !== undefined) await files.remove(path)
    }
  }
}

const socketPath = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/
