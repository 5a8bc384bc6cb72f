import { constants, watch } from 'node:fs'
import {
  chmod,
  lchown,
  lstat,
  open,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  symlink,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FilesystemSpace, LinuxFiles, LinuxFileStatus } from '../../linux.ts'
import { makeFolders } from '../make-folders.ts'
import { withPath } from '../with-path.ts'
import { chmodHeld, makeFoldersBeneath, openBeneath, visitBeneath } from './beneath.ts'
import { statusOf } from './file-status.ts'
import { linuxMounts } from './mounts.ts'
import { run } from './run.ts'
import { usage } from './usage.ts'

export function linuxFiles(): LinuxFiles {
  return {
    lstat: path => status(path, lstat),
    stat: path => status(path, stat),
    writeInPlace,
    writeUnsynced,
    makeFolderUnsynced,
    renameUnsynced: rename,
    symlink: (target, path) => symlink(target, path),
    readLink: readlink,
    realPath: path => realpath(path),
    chown: lchown,
    chmod: chmodHeld,
    removeFolder: rmdir,
    removeTree,
    readRange,
    watch: watchPath,
    space,
    usage,
    openBeneath,
    makeFoldersBeneath,
    visitBeneath,
  }
}

async function status(path: string, look: typeof stat): Promise<LinuxFileStatus | undefined> {
  try {
    return statusOf(await look(path, { bigint: true }))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** In a single write call, which a cgroup or sysctl file treats as one command. */
async function writeInPlace(path: string, content: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY)
  try {
    await withPath(path, file.write(content))
  } finally {
    await file.close()
  }
}

async function writeUnsynced(path: string, content: Uint8Array | string, mode: number): Promise<void> {
  const file = await open(path, 'w', mode)
  try {
    // The mode given to `open` is masked by the umask and ignored for an existing file.
    await file.chmod(mode)
    await withPath(path, file.writeFile(content))
  } finally {
    await file.close()
  }
}

async function makeFolderUnsynced(path: string, mode: number): Promise<void> {
  const topmostMade = await makeFolders(path)
  if (topmostMade !== undefined) await chmod(path, mode)
}

/** `rm --one-file-system` compares devices only, which misses bind mounts of the same filesystem. */
async function removeTree(path: string): Promise<void> {
  const target = await realpath(dirname(path)).then(
    folder => join(folder, basename(path)),
    () => undefined,
  )
  if (target === undefined || (await status(target, lstat)) === undefined) return
  const mounted = (await linuxMounts().list()).find(
    each => each.path === target || each.path.startsWith(`${target}/`),
  )
  if (mounted) throw Object.assign(new Error(`EBUSY: ${mounted.path} is mounted`), { code: 'EBUSY' })
  await run(['rm', '--recursive', '--force', '--one-file-system', '--', target])
}

async function readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function space(path: string): Promise<FilesystemSpace> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path)
  return {
    totalBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    totalInodes: files,
    freeInodes: ffree,
  }
}

/**
 * Maximum backlog of unread names; beyond it they collapse into one `undefined`, which means rescan
 * everything.
 */
const namesMax = 256

async function* watchPath(path: string, signal: AbortSignal): AsyncIterable<string | undefined> {
  if (signal.aborted) return
  const names = new Set<string | undefined>()
  let wake = (): void => undefined
  let failure: Error | undefined
  const watcher = watch(path, (_, name) => {
    if (names.has(undefined)) return
    const isLost = name === null || names.size >= namesMax
    if (isLost) names.clear()
    names.add(isLost ? undefined : name)
    wake()
  })
  watcher.on('error', error => {
    failure = error
    wake()
  })
  const abort = (): void => wake()
  signal.addEventListener('abort', abort)
  try {
    while (!signal.aborted) {
      if (failure) throw failure
      const [name] = names
      if (names.delete(name)) yield name
      else await new Promise<void>(resolve => (wake = resolve))
    }
  } finally {
    signal.removeEventListener('abort', abort)
    watcher.close()
  }
}
