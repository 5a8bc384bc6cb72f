/** Reads the eviction signals for memory, disks and PIDs. */
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { LinuxFiles } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { SignalObservations, SignalObservation } from './pressure.ts'

export interface ObserveSignalsOptions {
  readonly platform: Platform
  readonly linux: { readonly files: Pick<LinuxFiles, 'space'> }
  readonly runtime: Pick<ContainerRuntime, 'imageFsInfo'>
  readonly node: KubeletConfiguration
}

/** Signals that cannot be read are omitted and cause no pressure. */
export async function observeSignals(
  options: ObserveSignalsOptions,
  signal: AbortSignal,
): Promise<SignalObservations> {
  const { node, runtime } = options
  const [memory, pids, nodefs, imagefs] = await Promise.all([
    unlessFailed(readMemory(options)),
    unlessFailed(readPids(options)),
    unlessFailed(readDisk(options, node.rootDirectory)),
    unlessFailed(runtime.imageFsInfo({ signal }).then(({ folder }) => readDisk(options, folder))),
  ])
  return {
    'memory.available': memory,
    'pid.available': pids,
    'nodefs.available': nodefs?.bytes,
    'nodefs.inodesFree': nodefs?.inodes,
    'imagefs.available': imagefs?.bytes,
    'imagefs.inodesFree': imagefs?.inodes,
  }
}

/** Available memory is free memory plus inactive file cache; the rest is the working set. */
export function memoryAvailable(meminfo: string): SignalObservation | undefined {
  const total = kibibytes(meminfo, 'MemTotal')
  const free = kibibytes(meminfo, 'MemFree')
  if (total === undefined || free === undefined) return undefined
  const inactive = kibibytes(meminfo, 'Inactive\\(file\\)') ?? 0
  return { available: Math.min(free + inactive, total) * 1024, total: total * 1024 }
}

/** The thread count comes from `loadavg`: `0.1 0.2 0.3 2/345 6789`. */
export function pidAvailable(loadavg: string, pidMax: string): SignalObservation | undefined {
  const [, threads] = /^\S+ \S+ \S+ [0-9]+\/([0-9]+)/.exec(loadavg) ?? []
  const total = Number(pidMax)
  if (threads === undefined || !Number.isSafeInteger(total) || total <= 0) return undefined
  return { available: total - Number(threads), total }
}

async function readMemory({ platform }: ObserveSignalsOptions): Promise<SignalObservation | undefined> {
  return memoryAvailable(await read(platform, '/proc/meminfo'))
}

async function readPids({ platform }: ObserveSignalsOptions): Promise<SignalObservation | undefined> {
  return pidAvailable(await read(platform, '/proc/loadavg'), await read(platform, '/proc/sys/kernel/pid_max'))
}

async function readDisk(
  { linux }: ObserveSignalsOptions,
  folder: string,
): Promise<{ readonly bytes: SignalObservation; readonly inodes: SignalObservation }> {
  const { totalBytes, availableBytes, totalInodes, freeInodes } = await linux.files.space(folder)
  return {
    bytes: { available: availableBytes, total: totalBytes },
    inodes: { available: freeInodes, total: totalInodes },
  }
}

async function unlessFailed<T>(promise: Promise<T>): Promise<T | undefined> {
  return promise.catch(() => undefined)
}

async function read({ files }: Platform, path: string): Promise<string> {
  return new TextDecoder().decode(await files.read(path))
}

function kibibytes(meminfo: string, name: string): number | undefined {
  const [, amount] = new RegExp(`^${name}:\\s+([0-9]+) kB$`, 'm').exec(meminfo) ?? []
  return amount === undefined ? undefined : Number(amount)
}
