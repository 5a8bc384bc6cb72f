/**
 * Fake cgroup v2 filesystem for machines without one: a new cgroup has the files of the controllers that its
 * parent enables, and only an empty cgroup can be removed.
 */
import { basename, dirname } from 'node:path'
import type { LinuxFileStatus } from '#/platform/linux.ts'
import type { PodCgroupsOptions } from '../cgroups.ts'

const filesOf: Readonly<Record<string, readonly string[]>> = {
  cpu: ['cpu.weight', 'cpu.max'],
  memory: ['memory.max', 'memory.swap.max', 'memory.current', 'memory.stat'],
  pids: ['pids.max', 'pids.current'],
  hugetlb: ['hugetlb.2MB.max'],
  cpuset: ['cpuset.cpus'],
}

export class UnifiedTree {
  readonly #files = new Map<string, string>()
  readonly #folders = new Set<string>()
  /** Cgroups that contain processes and therefore cannot enable controllers for their children. */
  readonly busy = new Set<string>()

  constructor(root: string, controllers: readonly string[]) {
    this.#folders.add(root)
    this.#files.set(`${root}/cgroup.controllers`, controllers.join(' '))
    this.#files.set(`${root}/cgroup.subtree_control`, '')
  }

  content(path: string): string | undefined {
    return this.#files.get(path)
  }

  get folders(): readonly string[] {
    return [...this.#folders].sort()
  }

  readonly files: PodCgroupsOptions['platform']['files'] = {
    read: async path => new TextEncoder().encode(this.#files.get(path) ?? fail('ENOENT', path)),
    list: async path => {
      if (!this.#folders.has(path)) fail('ENOENT', path)
      return [...this.#folders, ...this.#files.keys()]
        .filter(each => dirname(each) === path)
        .map(each => basename(each))
    },
  }

  readonly linuxFiles: PodCgroupsOptions['linux']['files'] = {
    lstat: async path => {
      if (this.#folders.has(path)) return status('folder')
      return this.#files.has(path) ? status('file') : undefined
    },
    makeFolderUnsynced: async path => this.#make(path),
    removeFolder: async path => {
      if (!this.#folders.has(path)) fail('ENOENT', path)
      if ([...this.#folders].some(each => dirname(each) === path)) fail('EBUSY', path)
      this.#folders.delete(path)
      for (const file of this.#files.keys()) if (dirname(file) === path) this.#files.delete(file)
    },
    writeInPlace: async (path, content) => this.#write(path, content),
  }

  #make(path: string): void {
    const handedOn =
      this.#files.get(`${dirname(path)}/cgroup.subtree_control`)?.split(' ') ?? fail('ENOENT', path)
    this.#folders.add(path)
    for (const file of handedOn.flatMap(name => filesOf[name] ?? [])) this.#files.set(`${path}/${file}`, '')
    this.#files.set(`${path}/cgroup.controllers`, handedOn.join(' '))
    this.#files.set(`${path}/cgroup.subtree_control`, '')
    this.#files.set(`${path}/cgroup.procs`, '')
  }

  #write(path: string, content: string): void {
    const before = this.#files.get(path) ?? fail('ENOENT', path)
    if (basename(path) !== 'cgroup.subtree_control') {
      this.#files.set(path, content)
      return
    }
    if (this.busy.has(dirname(path))) fail('EBUSY', path)
    const available = this.#files.get(`${dirname(path)}/cgroup.controllers`)?.split(' ') ?? []
    const added = content.split(' ').map(each => each.replace('+', ''))
    for (const name of added) if (!available.includes(name)) fail('ENOENT', `${path} ${name}`)
    this.#files.set(path, [...before.split(' ').filter(name => name !== ''), ...added].join(' '))
  }
}

function status(type: LinuxFileStatus['type']): LinuxFileStatus {
  return { type, mode: 0, uid: 0, gid: 0, sizeBytes: 0, inode: 0n, device: 0n }
}

function fail(code: string, path: string): never {
  throw Object.assign(new Error(`${code}: ${path}`), { code })
}
