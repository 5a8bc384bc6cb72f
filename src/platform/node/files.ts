import { closeSync, openSync, readSync } from 'node:fs'
import {
  chmod,
  link,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  type FileHandle,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { AppendFile, Files, FileStatus, ReadFile } from '../platform.ts'
import { makeFolders } from './make-folders.ts'
import { withPath } from './with-path.ts'

export function nodeFiles(): Files {
  return {
    read: readFile,
    write,
    openAppend,
    create: async path => new NodeAppendFile(await open(path, 'w')),
    openRead: async path => new NodeReadFile(openSync(path, 'r')),
    openWriter: async () => {
      const { NodeFileWriter } = await import('./file-writer.ts')
      return new NodeFileWriter()
    },
    truncate,
    link: linkDurably,
    lock: lockFile,
    rename: renameDurably,
    remove,
    makeFolder,
    list,
    stat: status,
    realPath: path => realpath(path),
    readLink,
  }
}

interface ModeOption {
  readonly mode?: number
}

async function write(path: string, content: Uint8Array | string, options: ModeOption = {}): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${crypto.randomUUID()}${temporarySuffix}`)
  try {
    const file = await open(temporary, 'wx', options.mode)
    try {
      // The mode given to `open` is masked by the umask; the requested mode is exact.
      if (options.mode !== undefined) await file.chmod(options.mode)
      await withPath(path, file.writeFile(content))
      await withPath(path, file.sync())
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Suffix of a file that is being written. A crash may leave one behind; it is ignored and not listed. */
const temporarySuffix = '.k8ts-partial'

async function openAppend(path: string, options: ModeOption = {}): Promise<AppendFile> {
  const file = await open(path, 'a', options.mode)
  // A new file survives a crash only if its folder is synced too.
  await syncFolder(dirname(path))
  return new NodeAppendFile(file)
}

/**
 * Appends in call order, even if calls are not awaited. After a failure every further call fails with the
 * same error: the kernel may drop pages that it could not write, and a later `sync` would succeed without
 * them.
 */
class NodeAppendFile implements AppendFile {
  readonly #file: FileHandle
  /** Settles when all calls so far are done; stays rejected after a failure. */
  #last: Promise<void> = Promise.resolve()

  constructor(file: FileHandle) {
    this.#file = file
  }

  append(bytes: Uint8Array): Promise<void> {
    return this.#after(() => this.#file.appendFile(bytes))
  }

  sync(): Promise<void> {
    return this.#after(() => this.#file.datasync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last.catch(() => undefined)
    await this.#file.close()
  }

  #after(operation: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(operation)
    // The caller gets the error; this avoids an unhandled rejection of the chain.
    this.#last.catch(() => undefined)
    return this.#last
  }
}

class NodeReadFile implements ReadFile {
  #descriptor: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  read(positionBytes: number, lengthBytes: number): Uint8Array {
    const bytes = new Uint8Array(lengthBytes)
    let done = 0
    while (done < lengthBytes) {
      const count = readSync(this.#descriptor, bytes, done, lengthBytes - done, positionBytes + done)
      if (count === 0) break
      done += count
    }
    return bytes.subarray(0, done)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#descriptor >= 0) closeSync(this.#descriptor)
    this.#descriptor = -1
  }
}

async function truncate(path: string, sizeBytes: number): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.truncate(sizeBytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function linkDurably(existing: string, added: string): Promise<void> {
  await link(existing, added)
  await syncFolder(dirname(added))
}

/**
 * Node has no call for locks of the operating system; SQLite takes one on the file of a database, and the operating
 * system releases it when the process ends in any way. It would also release it when this process opens and closes
 * the file by other means, as POSIX has it: a file that serves as a lock has no other use.
 */
async function lockFile(path: string): Promise<AsyncDisposable | undefined> {
  // SQLite's error does not tell that the folder is missing.
  await stat(dirname(path))
  const { DatabaseSync } = await import('node:sqlite')
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if ((error as { readonly errcode?: number }).errcode === sqliteBusy) return undefined
    throw error
  }
  heldLocks.add(lock)
  return {
    [Symbol.asyncDispose]: async () => {
      if (heldLocks.delete(lock)) lock.close()
    },
  }
}

/** Prevents the garbage collection of a lock, which would release it. */
const heldLocks = new Set<DatabaseSync>()

const sqliteBusy = 5

async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncFolder(dirname(to))
  if (dirname(from) !== dirname(to)) await syncFolder(dirname(from))
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}

async function makeFolder(path: string, options: ModeOption = {}): Promise<void> {
  const topmostMade = await makeFolders(path, options.mode)
  if (topmostMade === undefined) return
  if (options.mode !== undefined) await chmod(path, options.mode)
  for (let made = path; made.length >= topmostMade.length; made = dirname(made))
    await syncFolder(dirname(made))
}

async function list(path: string): Promise<string[]> {
  const names = await readdir(path)
  return names.filter(name => !name.endsWith(temporarySuffix)).sort()
}

async function status(path: string): Promise<FileStatus | undefined> {
  try {
    const found = await stat(path)
    const mode = found.mode & 0o7777
    const [isFolder, isFile] = [found.isDirectory(), found.isFile()]
    const { uid, gid } = found
    return { sizeBytes: found.size, isFolder, isFile, modifiedMs: found.mtimeMs, mode, uid, gid }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

async function readLink(path: string): Promise<string | undefined> {
  try {
    return await readlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined
    throw error
  }
}

/** Makes created, renamed and removed names in a folder survive a crash. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
