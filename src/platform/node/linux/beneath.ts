/**
 * Walks a folder tree that hostile code may change at any moment. Each step opens one name relative to an
 * open folder without following links, so that the inspected file is the one that is used.
 */
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, opendir, readlink, type FileHandle } from 'node:fs/promises'
import type { OpenPath, Visit } from '../../linux.ts'
import { statusOf } from './file-status.ts'

/** O_PATH: a handle that identifies a file without opening its content. Node does not export the constant. */
const pathOnly = 0o10000000
const hold = pathOnly | constants.O_NOFOLLOW

/** Maximum links in one path, as in the kernel. */
const linksMax = 40

/** Maximum length of a path or link target. */
const pathLengthMax = 4_096

/** Maximum depth of visited folders, each of which is held open. */
const depthMax = 500

export async function openBeneath(root: string, path: string): Promise<OpenPath> {
  const handle = await walkBeneath(root, path)
  const status = statusOf(await handle.stat({ bigint: true }))
  return {
    // Not /proc/self, because other programs open it too.
    path: `/proc/${process.pid}/fd/${handle.fd}`,
    isFolder: status.type === 'folder',
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

export async function makeFoldersBeneath(root: string, path: string, mode: number): Promise<void> {
  const handle = await walkBeneath(root, path, async missing => {
    await mkdir(missing).catch(unlessCode('EEXIST'))
    await chmodHeld(missing, mode)
  })
  try {
    if (!(await handle.stat()).isDirectory()) throw failure('ENOTDIR', root, path)
  } finally {
    await handle.close()
  }
}

export async function chmodHeld(path: string, mode: number): Promise<void> {
  const handle = await open(path, hold)
  try {
    if ((await handle.stat()).isSymbolicLink()) throw failure('ELOOP', path, '')
    await chmod(heldAt(handle), mode)
  } finally {
    await handle.close()
  }
}

export async function visitBeneath(root: string, visit: Visit, signal?: AbortSignal): Promise<void> {
  await visit(root, statusOf(await lstat(root, { bigint: true })))
  const handle = await open(root, hold)
  try {
    if ((await handle.stat()).isDirectory()) await visitFolder(handle, { root, visit, signal, depth: 1 })
  } finally {
    await handle.close()
  }
}

interface Visiting {
  readonly root: string
  readonly visit: Visit
  readonly signal: AbortSignal | undefined
  readonly depth: number
}

async function visitFolder(folder: FileHandle, visiting: Visiting): Promise<void> {
  const { root, visit, signal, depth } = visiting
  if (depth > depthMax) throw failure('ENAMETOOLONG', root, '')
  for await (const { name } of await opendir(heldAt(folder))) {
    signal?.throwIfAborted()
    const path = `${heldAt(folder)}/${name}`
    try {
      const status = statusOf(await lstat(path, { bigint: true }))
      await visit(path, status)
      if (status.type !== 'folder') continue
      const child = await open(path, hold | constants.O_DIRECTORY)
      try {
        await visitFolder(child, { ...visiting, depth: depth + 1 })
      } finally {
        await child.close()
      }
    } catch (error) {
      if (!wentAway.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

/** Errors of opening a name that was removed or replaced since it was listed. */
const wentAway: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP']

type MakeMissing = (path: string) => Promise<void>

async function walkBeneath(root: string, path: string, makeMissing?: MakeMissing): Promise<FileHandle> {
  if (path.length > pathLengthMax) throw failure('ENAMETOOLONG', root, path)
  const ahead = namesOf(path).reverse()
  const held = [await open(root, pathOnly)]
  let links = 0
  try {
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === '..') {
        if (held.length === 1) throw failure('ELOOP', root, path)
        await held.pop()?.close()
        continue
      }
      const next = `${heldAt(held.at(-1)!)}/${name}`
      const handle = await openNext(next, makeMissing)
      held.push(handle)
      if (!(await handle.stat()).isSymbolicLink()) continue
      await held.pop()?.close()
      const target = await readlink(next)
      links += 1
      if (target.startsWith('/') || links > linksMax) throw failure('ELOOP', root, path)
      ahead.push(...namesOf(target).reverse())
    }
    return held.pop()!
  } finally {
    for (const handle of held) await handle.close()
  }
}

async function openNext(path: string, makeMissing: MakeMissing | undefined): Promise<FileHandle> {
  try {
    return await open(path, hold)
  } catch (error) {
    if (makeMissing === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await makeMissing(path)
    return open(path, hold)
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter(name => name !== '' && name !== '.')
}

function heldAt(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`
}

function unlessCode(code: string): (error: NodeJS.ErrnoException) => void {
  return error => {
    if (error.code !== code) throw error
  }
}

const reasons = {
  ELOOP: 'a link leads out of the folder, or there are too many of them',
  ENOTDIR: 'not a folder',
  ENAMETOOLONG: 'the path is too long',
}

function failure(code: keyof typeof reasons, root: string, path: string): Error {
  const shown = path.slice(0, pathLengthMax)
  return Object.assign(new Error(`${code}: ${reasons[code]}, '${shown}' in '${root}'`), { code })
}
