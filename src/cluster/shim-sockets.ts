/**
 * Sockets of containerd shims. They are in one directory for the whole machine, and a killed shim leaves its
 * socket behind.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import type { NodeFolders } from './node-folders.ts'

/**
 * Removes the sockets of all shims of the node, which have exited. `known` are those that `findShimSockets` has found
 * before: containerd deletes the folder of a shim that has exited, but not its socket.
 */
export async function removeShimSockets(
  platform: Pick<Platform, 'files'>,
  folders: Pick<NodeFolders, 'containerd'>,
  known: readonly string[] = [],
): Promise<void> {
  const found = await findShimSockets(platform, folders)
  for (const path of new Set([...known, ...found])) await platform.files.remove(path)
}

export async function findShimSockets(
  { files }: Pick<Platform, 'files'>,
  { containerd }: Pick<NodeFolders, 'containerd'>,
): Promise<readonly string[]> {
  const tasks = join(containerd, 'state/io.containerd.runtime.v2.task/k8s.io')
  const found: string[] = []
  for (const id of await files.list(tasks).catch(() => [])) {
    // The first is the file of containerd before 2.0.
    for (const name of ['address', 'bootstrap.json']) {
      const bytes = await files.read(join(tasks, id, name)).catch(() => '')
      const path = socketPath.exec(Buffer.from(bytes).toString())?.[1]
      if (path !== undefined) found.push(path)
    }
  }
  return found
}

const socketPath = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/
