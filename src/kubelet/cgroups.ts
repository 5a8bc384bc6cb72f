/**
 * Pod cgroups, in which the runtime creates container cgroups: `kubepods/pod<uid>` for Guaranteed pods,
 * `kubepods/burstable/pod<uid>` and `kubepods/besteffort/pod<uid>` for the others. Uses cgroupfs directly in
 * v1 and v2, never systemd. The kubelet has to remove pod cgroups itself: the runtime manages only those of
 * containers.
 */
import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Linux, LinuxFiles, HostInfo } from '#/platform/linux.ts'
import type { Clock, Files } from '#/platform/platform.ts'
import { hierarchiesOf, type Hierarchy } from './cgroups/hierarchies.ts'
import {
  burstableShares,
  cgroupWrites,
  podLimits,
  type CgroupLimits,
  type CgroupWrite,
} from './cgroups/limits.ts'
import { cpuShares } from './cpu-time.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { NodeAllocatableLimits } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { qosCgroup, podCgroup, podCgroupOf, kubepodsCgroup } from './pod-paths.ts'

export interface PodCgroupsOptions {
  readonly platform: { readonly clock: Clock; readonly files: Pick<Files, 'read' | 'list'> }
  readonly linux: {
    readonly machine: Pick<HostInfo, 'cgroupVersion'>
    readonly files: Pick<LinuxFiles, 'lstat' | 'makeFolderUnsynced' | 'removeFolder' | 'writeInPlace'>
    readonly run: Linux['run']
  }
  readonly node: KubeletConfiguration
  readonly metrics: KubeletMetrics
  /** Huge page sizes of the kernel, such as `2MB`. */
  readonly hugePageSizes: readonly string[]
  /** Mount point of cgroup v2; defaults to `/sys/fs/cgroup`. */
  readonly unifiedFolder?: string
}

/** A cgroup stays busy for a moment after its last process has exited. */
const removalTries = 10
const removalPauseMs = 20

/** Controllers enabled for pods if the kernel has them. */
const controllersOfPods: ReadonlySet<string> = new Set(['cpu', 'cpuset', 'memory', 'pids', 'hugetlb', 'io'])

const unifiedFolderUsual = '/sys/fs/cgroup'

export class PodCgroups {
  readonly #options: PodCgroupsOptions
  readonly #version: 1 | 2
  #hierarchies: readonly Hierarchy[] = []
  /** Memory limit of all pods together. */
  #memoryBytes = 0
  /** Last written values by directory: most pod syncs change nothing. */
  readonly #written = new Map<string, string>()

  constructor(options: PodCgroupsOptions) {
    this.#options = options
    this.#version = options.linux.machine.cgroupVersion
  }

  /** Must resolve before other methods are called. Idempotent. */
  async start(share: NodeAllocatableLimits): Promise<void> {
    const { node } = this.#options
    this.#hierarchies = await this.#findHierarchies()
    this.#memoryBytes = share.memoryBytes
    const hugePages = new Map(this.#options.hugePageSizes.map(size => [size, unboundedBytes]))
    await this.#ensure(kubepodsCgroup(node), {
      cpuShares: cpuShares(share.cpuMilli),
      memoryBytes: share.memoryBytes,
      pids: share.pids,
    })
    await this.#ensure(qosCgroup(node, 'BestEffort'), { cpuShares: cpuShares(0), hugePages })
    await this.#ensure(qosCgroup(node, 'Burstable'), { hugePages })
  }

  /** Creates the pod's cgroup and updates changed limits. Resolves with the sandbox's `cgroupParent`. */
  async ensure(pod: KubeletPod): Promise<string> {
    const { node, hugePageSizes } = this.#options
    const path = podCgroup(node, pod)
    await this.#ensure(path, podLimits(pod, { podPidsMax: node.podPidsMax, hugePageSizes }))
    return path
  }

  /** Updates the CPU shares of the Burstable QoS cgroup from the requests of these pods. */
  async updateQosCgroups(pods: readonly Pod[]): Promise<void> {
    await this.#ensure(qosCgroup(this.#options.node, 'Burstable'), { cpuShares: burstableShares(pods) })
  }

  /**
   * Kills remaining processes and removes the pod's cgroups. Idempotent. Throws if they stay busy; the caller
   * can retry.
   */
  async remove(uid: string): Promise<void> {
    await this.#measured('destroy', () => this.#remove(uid))
  }

  async #remove(uid: string): Promise<void> {
    const folders = this.#podFolders(uid)
    for (const folder of folders) this.#written.delete(folder)
    for (let tries = 1; ; tries++) {
      try {
        for (const folder of folders) await this.#removeTree(folder)
        return
      } catch (error) {
        if (tries >= removalTries || !isBusy(error)) throw error
        for (const folder of folders) await this.#kill(folder)
        await this.#options.platform.clock.sleep(removalPauseMs * tries)
      }
    }
  }

  /** Kills what still runs in it; the group stays. */
  async killProcesses(uid: string): Promise<void> {
    for (const folder of this.#podFolders(uid)) await this.#kill(folder)
  }

  /** Memory of all pods together. Rejects if the kernel does not account for it. */
  async memoryOfPods(): Promise<PodsMemory> {
    const workingSetBytes = await this.#workingSet(kubepodsCgroup(this.#options.node))
    return { limitBytes: this.#memoryBytes, workingSetBytes }
  }

  /** Working set of a pod. Rejects if the kernel does not account for it. */
  memoryOf(pod: KubeletPod): Promise<number> {
    return this.#workingSet(podCgroup(this.#options.node, pod))
  }

  /** Number of processes and threads of a pod. Rejects if the kernel does not count them. */
  async processesOf(pod: KubeletPod): Promise<number> {
    const folder = this.#folderWith('pids', podCgroup(this.#options.node, pod))
    return Number(await this.#read(join(folder, 'pids.current')))
  }

  /** UIDs of pods that have a cgroup in any hierarchy. */
  async list(): Promise<readonly string[]> {
    const { node } = this.#options
    const uids = new Set<string>()
    for (const { folder } of this.#hierarchies) {
      for (const qosClass of classes) {
        for (const name of await this.#names(join(folder, qosCgroup(node, qosClass)))) {
          if (name.startsWith('pod')) uids.add(name.slice('pod'.length))
        }
      }
    }
    return [...uids].sort()
  }

  /** Removes all cgroups of a deleted node. Throws if processes outside pod cgroups remain. */
  async removeAll(): Promise<void> {
    for (const uid of await this.list()) await this.remove(uid)
    const { node } = this.#options
    const top = join('/', node.cgroupRoot)
    for (const { folder } of this.#hierarchies) {
      await this.#removeTree(join(folder, top === '/' ? kubepodsCgroup(node) : top))
    }
    this.#written.clear()
  }

  /** Usage without the file cache that the kernel can reclaim at once. */
  async #workingSet(path: string): Promise<number> {
    const folder = this.#folderWith('memory', path)
    const files = memoryFiles[this.#version]
    const [usage = '', stat = ''] = await Promise.all(
      [files.usage, 'memory.stat'].map(file => this.#read(join(folder, file))),
    )
    const [, inactive = '0'] = new RegExp(`^${files.inactive} ([0-9]+)$`, 'm').exec(stat) ?? []
    return Math.max(0, Number(usage) - Number(inactive))
  }

  async #findHierarchies(): Promise<readonly Hierarchy[]> {
    if (this.#version === 1) return hierarchiesOf(await this.#read('/proc/self/mountinfo'))
    const { unifiedFolder: folder = unifiedFolderUsual } = this.#options
    const controllers = (await this.#read(join(folder, 'cgroup.controllers'))).trim().split(/\s+/)
    return [{ folder, controllers: new Set(controllers.filter(name => controllersOfPods.has(name))) }]
  }

  async #ensure(path: string, limits: CgroupLimits): Promise<void> {
    const writes = cgroupWrites(this.#version, limits)
    const { clock } = this.#options.platform
    const beganMs = clock.monotonicMs()
    const effects = await Promise.all(
      this.#hierarchies.map(hierarchy => this.#ensureIn(hierarchy, path, writes)),
    )
    const effect = (['create', 'update'] as const).find(each => effects.includes(each))
    if (effect !== undefined) this.#observe(effect, beganMs)
  }

  async #ensureIn(
    hierarchy: Hierarchy,
    path: string,
    writes: readonly CgroupWrite[],
  ): Promise<'create' | 'update' | undefined> {
    const folder = join(hierarchy.folder, path)
    const own = writes.filter(({ controller }) => hierarchy.controllers.has(controller))
    const wanted = own.map(({ file, value }) => `${file}=${value}`).join(' ')
    const isPresent = await this.#exists(folder)
    if (this.#written.get(folder) === wanted && isPresent) return undefined
    await this.#make(hierarchy, path)
    for (const { file, value } of own) await this.#write(join(folder, file), value)
    this.#written.set(folder, wanted)
    return isPresent ? 'update' : 'create'
  }

  async #measured(operation: 'destroy', work: () => Promise<void>): Promise<void> {
    const beganMs = this.#options.platform.clock.monotonicMs()
    try {
      await work()
    } finally {
      this.#observe(operation, beganMs)
    }
  }

  #observe(operation: 'create' | 'update' | 'destroy', beganMs: number): void {
    const { metrics, platform } = this.#options
    metrics.node.cgroupDuration[operation].observe((platform.clock.monotonicMs() - beganMs) / 1_000)
  }

  async #make(hierarchy: Hierarchy, path: string): Promise<void> {
    const { files } = this.#options.linux
    let folder = hierarchy.folder
    for (const name of path.split('/').filter(part => part !== '')) {
      const parent = folder
      folder = join(parent, name)
      if (this.#version === 2) await this.#delegate(parent, hierarchy)
      if (!(await this.#exists(folder))) await files.makeFolderUnsynced(folder, 0o755)
      if (hierarchy.controllers.has('cpuset') && this.#version === 1)
        await this.#inheritCpuset(parent, folder)
    }
  }

  /** In cgroup v2, a cgroup enables controllers for its children explicitly (`cgroup.subtree_control`). */
  async #delegate(folder: string, { controllers }: Hierarchy): Promise<void> {
    const file = join(folder, 'cgroup.subtree_control')
    const enabled = new Set((await this.#read(file)).trim().split(/\s+/))
    const missing = [...controllers].filter(name => !enabled.has(name))
    if (missing.length === 0) return
    try {
      await this.#write(file, missing.map(name => `+${name}`).join(' '))
    } catch (error) {
      if (!isBusy(error)) throw error
      throw new Error(
        `cgroup ${folder} contains processes, so controllers cannot be enabled for its children: ` +
          "move the processes into a sibling cgroup, or run in the host's cgroup namespace",
        { cause: error },
      )
    }
  }

  /** In cgroup v1, a new cpuset is empty and accepts no process until CPUs and memory nodes are set. */
  async #inheritCpuset(parent: string, folder: string): Promise<void> {
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if ((await this.#read(join(folder, file))).trim() !== '') continue
      await this.#write(join(folder, file), (await this.#read(join(parent, file))).trim())
    }
  }

  #folderWith(controller: string, path: string): string {
    const hierarchy = this.#hierarchies.find(({ controllers }) => controllers.has(controller))
    if (hierarchy === undefined) throw new Error(`cgroup controller ${controller} is not available`)
    return join(hierarchy.folder, path)
  }

  #podFolders(uid: string): readonly string[] {
    const { node } = this.#options
    return this.#hierarchies.flatMap(({ folder }) => {
      return classes.map(qosClass => join(folder, podCgroupOf(node, qosClass, uid)))
    })
  }

  /** Removes child cgroups first. The directories are removed with rmdir although they contain files. */
  async #removeTree(folder: string): Promise<void> {
    for (const child of await this.#children(folder)) await this.#removeTree(child)
    try {
      await this.#options.linux.files.removeFolder(folder)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }

  async #kill(folder: string): Promise<void> {
    for (const child of await this.#children(folder)) await this.#kill(child)
    const processes = await this.#read(join(folder, 'cgroup.procs')).catch(() => '')
    // Processes outside our PID namespace are listed as 0.
    const ids = processes.split('\n').filter(id => Number(id) > 1)
    // Processes that have exited in the meantime are ignored.
    if (ids.length === 0) return
    await this.#options.linux.run(['sh', '-c', 'kill -KILL "$@"', 'sh', ...ids]).catch(() => undefined)
  }

  async #children(folder: string): Promise<readonly string[]> {
    const children: string[] = []
    for (const name of await this.#names(folder)) {
      const status = await this.#options.linux.files.lstat(join(folder, name))
      if (status?.type === 'folder') children.push(join(folder, name))
    }
    return children
  }

  async #names(folder: string): Promise<readonly string[]> {
    try {
      return await this.#options.platform.files.list(folder)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
  }

  async #exists(folder: string): Promise<boolean> {
    return (await this.#options.linux.files.lstat(folder)) !== undefined
  }

  async #read(path: string): Promise<string> {
    return new TextDecoder().decode(await this.#options.platform.files.read(path))
  }

  async #write(path: string, value: string): Promise<void> {
    try {
      await this.#options.linux.files.writeInPlace(path, value)
    } catch (error) {
      throw Object.assign(new Error(`cannot write ${value} to ${path}`, { cause: error }), {
        code: codeOf(error),
      })
    }
  }
}

export interface PodsMemory {
  readonly limitBytes: number
  readonly workingSetBytes: number
}

const classes = ['Guaranteed', 'Burstable', 'BestEffort'] as const

/** The usage, and the name of inactive file cache in `memory.stat`. */
const memoryFiles = {
  1: { usage: 'memory.usage_in_bytes', inactive: 'total_inactive_file' },
  2: { usage: 'memory.current', inactive: 'inactive_file' },
} as const

/** Effectively unlimited, and small enough for the kernel to accept. */
const unboundedBytes = 2 ** 62

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function isBusy(error: unknown): boolean {
  return codeOf(error) === 'EBUSY'
}
