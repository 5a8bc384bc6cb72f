import { join } from 'node:path/posix'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

/**
 * Kills a containerd left by a previous process. It normally dies with its parent; otherwise it still locks
 * the database in the directory, and a new containerd would wait for it forever. Its containers keep running.
 */
export async function killOrphanedContainerd(
  platform: Platform,
  linux: Linux,
  folder: string,
): Promise<void> {
  const { files, clock, log } = platform
  const pidPath = join(folder, 'containerd.pid')
  const pid = Number((await textOf(files, pidPath)) || 0)
  const isAlive = async (): Promise<boolean> => {
    const commandLine = await textOf(files, `/proc/${pid}/cmdline`)
    return commandLine.split('\0').includes(configurationPath(folder))
  }
  if (!Number.isSafeInteger(pid) || pid <= 1 || !(await isAlive())) return
  log.warn('Killing containerd left by a previous process', { pid, folder })
  await linux.run(['sh', '-c', `kill -9 ${pid}`])
  for (let attempt = 0; attempt < attemptsMax && (await isAlive()); attempt++) await clock.sleep(attemptMs)
}

export function configurationPath(folder: string): string {
  return join(folder, 'containerd.toml')
}

const attemptMs = 20
const attemptsMax = 250

async function textOf(files: Platform['files'], path: string): Promise<string> {
  try {
    return Buffer.from(await files.read(path)).toString()
  } catch {
    return ''
  }
}
