import { posix } from 'node:path'
import type {
  FilesystemSpace,
  OpenPath,
  Linux,
  LinuxFiles,
  LinuxFileStatus,
  HostInfo,
  MountPoint,
  Mounts,
  Visit,
} from '../linux.ts'
import type { Files } from '../platform.ts'
import { systemError } from './world.ts'

export interface SimulatedLinuxOptions {
  /** The files of the host. */
  readonly files: Files
  readonly machine?: Partial<HostInfo>
}

/**
 * A simulated Linux node. Files are those of the simulated host, with links and owners added; mounts are only
 * a table and do not affect file access. There are no cgroups and no commands.
 */
export class SimulatedLinux implements Linux {
  readonly files: SimulatedLinuxFiles
  readonly mounts: Mounts
  readonly machine: HostInfo

  constructor({ files, machine }: SimulatedLinuxOptions) {
    this.files = new SimulatedLinuxFiles(files)
    this.mounts = simulatedMounts()
    this.machine = { ...usualMachine, ...machine }
  }

  async run(command: readonly string[]): Promise<string> {
    throw systemError('ENOENT', `no command is simulated: ${command.join(' ')}`)
  }
}

/** Prefix of a file that represents a link, followed by the target. */
const linkMark = '\0link\0'

/** Maximum links in one path. */
const linksMax = 40

class SimulatedLinuxFiles implements LinuxFiles {
  readonly #files: Files
  readonly #owners = new Map<string, { readonly uid: number; readonly gid: number }>()
  readonly #modes = new Map<string, number>()
  readonly #watchers = new Map<string, Set<() => void>>()

  constructor(files: Files) {
    this.#files = files
  }

  /** Wakes the watchers of the folder. */
  tell(folder: string): void {
    for (const wake of this.#watchers.get(folder) ?? []) wake()
  }

  async lstat(path: string): Promise<LinuxFileStatus | undefined> {
    const found = await this.#files.stat(path)
    if (found === undefined) return undefined
    const isLink = !found.isFolder && (await this.#linkAt(path)) !== undefined
    const { uid = 0, gid = 0 } = this.#owners.get(path) ?? {}
    const mode = this.#modes.get(path) ?? found.mode
    const type = found.isFolder ? 'folder' : isLink ? 'link' : 'file'
    return { type, mode, uid, gid, sizeBytes: found.sizeBytes, inode: 0n, device: 1n }
  }

  async stat(path: string): Promise<LinuxFileStatus | undefined> {
    const real = await this.realPath(path).catch(() => undefined)
    return real === undefined ? undefined : this.lstat(real)
  }

  async writeInPlace(path: string, content: string): Promise<void> {
    if ((await this.#files.stat(path)) === undefined) throw systemError('ENOENT', `no such file: ${path}`)
    await this.#files.write(path, content)
  }

  async writeUnsynced(path: string, content: Uint8Array | string, mode: number): Promise<void> {
    await this.#files.write(path, content, { mode })
  }

  async makeFolderUnsynced(path: string, mode: number): Promise<void> {
    if ((await this.#files.stat(path)) === undefined) await this.#files.makeFolder(path, { mode })
  }

  async renameUnsynced(from: string, to: string): Promise<void> {
    await this.#files.rename(from, to)
  }

  async symlink(target: string, path: string): Promise<void> {
    if ((await this.#files.stat(path)) !== undefined) throw systemError('EEXIST', `already there: ${path}`)
    await this.#files.write(path, `${linkMark}${target}`)
  }

  async readLink(path: string): Promise<string> {
    const target = await this.#linkAt(path)
    if (target === undefined) throw systemError('EINVAL', `not a link: ${path}`)
    return target
  }

  async realPath(path: string): Promise<string> {
    let left = path.split('/').filter(part => part !== '')
    let real = '/'
    for (let links = 0; left.length > 0;) {
      const next = posix.join(real, left[0] ?? '')
      const target = await this.#linkAt(next)
      left = left.slice(1)
      if (target === undefined) real = next
      else if (++links > linksMax) throw systemError('ELOOP', `too many links: ${path}`)
      else {
        left = [...target.split('/').filter(part => part !== ''), ...left]
        if (target.startsWith('/')) real = '/'
      }
    }
    if ((await this.#files.stat(real)) === undefined) throw systemError('ENOENT', `no such file: ${path}`)
    return real
  }

  async chown(path: string, uid: number, gid: number): Promise<void> {
    const old = this.#owners.get(path) ?? { uid: 0, gid: 0 }
    this.#owners.set(path, { uid: uid === -1 ? old.uid : uid, gid: gid === -1 ? old.gid : gid })
  }

  async chmod(path: string, mode: number): Promise<void> {
    if ((await this.#linkAt(path)) !== undefined) throw systemError('ELOOP', `a link: ${path}`)
    this.#modes.set(path, mode)
  }

  async removeFolder(path: string): Promise<void> {
    if ((await this.#files.list(path)).length > 0) throw systemError('ENOTEMPTY', `not empty: ${path}`)
    await this.removeTree(path)
  }

  async removeTree(path: string): Promise<void> {
    await this.#files.remove(path)
    for (const known of [this.#owners, this.#modes]) {
      for (const key of known.keys()) if (key === path || key.startsWith(`${path}/`)) known.delete(key)
    }
  }

  async readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return (await this.#files.read(await this.realPath(path))).subarray(offset, offset + length)
  }

  async *watch(path: string, signal: AbortSignal): AsyncGenerator<string | undefined, void, undefined> {
    const watchers = this.#watchers.get(path) ?? new Set()
    let isTold = false
    let wake = (): void => undefined
    const tell = (): void => {
      isTold = true
      wake()
    }
    this.#watchers.set(path, watchers.add(tell))
    signal.addEventListener('abort', tell, { once: true })
    try {
      while (!signal.aborted) {
        if (isTold) {
          isTold = false
          yield undefined
        } else {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
    } finally {
      watchers.delete(tell)
    }
  }

  async space(): Promise<FilesystemSpace> {
    return {
      totalBytes: 100 * gibibyte,
      availableBytes: 90 * gibibyte,
      totalInodes: 1_000_000,
      freeInodes: 900_000,
    }
  }

  async usage(path: string): Promise<{ readonly bytes: number; readonly inodes: number }> {
    let [bytes, inodes] = [0, 0]
    await this.visitBeneath(path, async (_, { sizeBytes }) => {
      bytes += sizeBytes
      inodes++
    })
    return { bytes, inodes }
  }

  async openBeneath(root: string, path: string): Promise<OpenPath> {
    const real = await this.realPath(posix.join(root, path))
    const top = await this.realPath(root)
    if (real !== top && !real.startsWith(`${top}/`))
      throw systemError('ELOOP', `leads out of ${root}: ${path}`)
    const isFolder = (await this.#files.stat(real))?.isFolder ?? false
    return { path: real, isFolder, [Symbol.asyncDispose]: async () => undefined }
  }

  async makeFoldersBeneath(root: string, path: string, mode: number): Promise<void> {
    await this.makeFolderUnsynced(posix.join(root, path), mode)
  }

  async visitBeneath(root: string, visit: Visit): Promise<void> {
    const status = await this.lstat(root)
    if (status === undefined) return
    await visit(root, status)
    if (status.type !== 'folder') return
    for (const name of await this.#files.list(root)) await this.visitBeneath(posix.join(root, name), visit)
  }

  async #linkAt(path: string): Promise<string | undefined> {
    const found = await this.#files.stat(path)
    if (found === undefined || found.isFolder) return undefined
    const text = Buffer.from(await this.#files.read(path)).toString()
    return text.startsWith(linkMark) ? text.slice(linkMark.length) : undefined
  }
}

const gibibyte = 2 ** 30

function simulatedMounts(): Mounts {
  let table: readonly MountPoint[] = []
  const add = (point: MountPoint): void => {
    table = [...table, point]
  }
  return {
    list: async () => table,
    bind: async (source, target) => add({ path: target, type: 'none', source }),
    tmpfs: async target => add({ path: target, type: 'tmpfs', source: 'tmpfs' }),
    mount: async ({ source, target, type }) => add({ path: target, type, source }),
    makeShared: async () => undefined,
    unmount: async path => {
      table = table.filter(point => point.path !== path)
    },
  }
}

const usualMachine: HostInfo = {
  isRoot: true,
  processors: 4,
  memoryBytes: 16 * gibibyte,
  architecture: 'amd64',
  kernelVersion: '6.1.0',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  machineId: '0123456789abcdef0123456789abcdef',
  bootId: '00000000-0000-4000-8000-000000000001',
  systemUuid: '00000000-0000-4000-8000-000000000002',
  hostname: 'simulated',
  cgroupVersion: 1,
  hasSystemd: false,
  swapBytes: 0,
}
