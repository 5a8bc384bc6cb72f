/** Reads the eviction signals for memory, disks and PIDs. */
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { LinuxFiles } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PodCgroups } from '../cgroups.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { SignalObservations, SignalObservation } from './plan-pressure.ts'

export interface SignalSourcesOptions {
  readonly platform: Platform
  readonly linux: { readonly files: Pick<LinuxFiles, 'space' | 'stat'> }
  readonly runtime: Pick<ContainerRuntime, 'imageFsInfo'>
  readonly cgroups: Pick<PodCgroups, 'memoryOfPods'>
  readonly node: KubeletConfiguration
}

export class SignalSources {
  readonly #options: SignalSourcesOptions
  /** Does not change while the runtime runs, so it is asked once. */
  #imageFolder: string | undefined
  #hasDedicatedImageFs = false

  constructor(options: SignalSourcesOptions) {
    this.#options = options
  }

  /** True if images and writable layers are on another filesystem than the kubelet's folder. */
  get hasDedicatedImageFs(): boolean {
    return this.#hasDedicatedImageFs
  }

  async observe(signal: AbortSignal): Promise<SignalObservations> {
    const { rootDirectory } = this.#options.node
    const [memory, pids, nodefs, imagefs] = await Promise.all([
      this.observeMemory(),
      unlessFailed(this.#readPids()),
      unlessFailed(this.#readDisk(rootDirectory)),
      unlessFailed(this.#findImageFolder(signal).then(folder => this.#readDisk(folder))),
    ])
    return {
      ...memory,
      'pid.available': pids,
      'nodefs.available': nodefs?.bytes,
      'nodefs.inodesFree': nodefs?.inodes,
      'imagefs.available': imagefs?.bytes,
      'imagefs.inodesFree': imagefs?.inodes,
    }
  }

  /** The signals that can change within a second. */
  async observeMemory(): Promise<SignalObservations> {
    const [machine, pods] = await Promise.all([
      unlessFailed(this.#read('/proc/meminfo')),
      unlessFailed(this.#options.cgroups.memoryOfPods()),
    ])
    return {
      'memory.available': machine === undefined ? undefined : memoryAvailable(machine),
      'allocatableMemory.available': pods && {
        available: pods.limitBytes - pods.workingSetBytes,
        capacity: pods.limitBytes,
      },
    }
  }

  async #readPids(): Promise<SignalObservation | undefined> {
    return pidAvailable({
      loadavg: await this.#read('/proc/loadavg'),
      pidMax: await this.#read('/proc/sys/kernel/pid_max'),
      threadsMax: await this.#read('/proc/sys/kernel/threads-max'),
    })
  }

  async #findImageFolder(signal: AbortSignal): Promise<string> {
    if (this.#imageFolder !== undefined) return this.#imageFolder
    const { linux, runtime, node } = this.#options
    const { folder } = await runtime.imageFsInfo({ signal })
    const [own, images] = await Promise.all([node.rootDirectory, folder].map(path => linux.files.stat(path)))
    this.#hasDedicatedImageFs = own !== undefined && images !== undefined && own.device !== images.device
    this.#imageFolder = folder
    return folder
  }

  async #readDisk(
    folder: string,
  ): Promise<{ readonly bytes: SignalObservation; readonly inodes: SignalObservation }> {
    const space = await this.#options.linux.files.space(folder)
    return {
      bytes: { available: space.availableBytes, capacity: space.totalBytes },
      inodes: { available: space.freeInodes, capacity: space.totalInodes },
    }
  }

  async #read(path: string): Promise<string> {
    return new TextDecoder().decode(await this.#options.platform.files.read(path))
  }
}

/** Available memory is free memory plus inactive file cache; the rest is the working set. */
export function memoryAvailable(meminfo: string): SignalObservation | undefined {
  const total = kibibytes(meminfo, 'MemTotal')
  const free = kibibytes(meminfo, 'MemFree')
  if (total === undefined || free === undefined) return undefined
  const inactive = kibibytes(meminfo, 'Inactive\\(file\\)') ?? 0
  return { available: Math.min(free + inactive, total) * 1024, capacity: total * 1024 }
}

export interface PidTexts {
  /** Has the number of threads: `0.1 0.2 0.3 2/345 6789`. */
  readonly loadavg: string
  readonly pidMax: string
  readonly threadsMax: string
}

/** Threads have PIDs, too. */
export function pidAvailable({ loadavg, pidMax, threadsMax }: PidTexts): SignalObservation | undefined {
  const [, threads] = /^\S+ \S+ \S+ [0-9]+\/([0-9]+)/.exec(loadavg) ?? []
  const capacity = Math.min(Number(pidMax), Number(threadsMax))
  if (threads === undefined || !Number.isSafeInteger(capacity) || capacity <= 0) return undefined
  return { available: capacity - Number(threads), capacity }
}

async function unlessFailed<T>(promise: Promise<T>): Promise<T | undefined> {
  return promise.catch(() => undefined)
}

function kibibytes(meminfo: string, name: string): number | undefined {
  const [, amount] = new RegExp(`^${name}:\\s+([0-9]+) kB$`, 'm').exec(meminfo) ?? []
  return amount === undefined ? undefined : Number(amount)
}
