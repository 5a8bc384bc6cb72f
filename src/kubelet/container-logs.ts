/**
 * Log rotation for running containers: a full log is renamed and reopened, older ones are compressed, the
 * oldest removed. Logs of exited containers are left as they are.
 * https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-rotation
 */
import { basename, dirname, join } from 'node:path/posix'
import { gzipSync } from 'node:zlib'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { LinuxFiles } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'

export interface ContainerLogsOptions {
  readonly platform: Platform
  readonly files: Pick<LinuxFiles, 'readRange'>
  readonly runtime: Pick<ContainerRuntime, 'reopenContainerLog'>
  readonly node: Pick<KubeletConfiguration, 'containerLog'>
  /** Logs of containers that are running now. */
  readonly running: () => Iterable<WrittenLog>
}

export interface WrittenLog {
  readonly containerId: string
  /** Absolute path. */
  readonly path: string
}

/** Period of size checks. */
const periodMs = 10_000

/**
 * Compressed per step, to keep the event loop responsive. Concatenated gzip members are a valid gzip file.
 */
const pieceBytes = 128 * 1_024

/** Fastest compression level. */
const level = 1

export class ContainerLogs {
  readonly #options: ContainerLogsOptions

  constructor(options: ContainerLogsOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    while (!signal.aborted) {
      await this.rotate(signal)
      await clock.sleep(periodMs, signal).catch(() => undefined)
    }
  }

  /** Checks all logs once. */
  async rotate(signal: AbortSignal): Promise<void> {
    const { platform, running } = this.#options
    for (const log of running()) {
      if (signal.aborted) return
      try {
        await this.#check(log, signal)
      } catch (error) {
        if (!signal.aborted) platform.log.warn('Failed to rotate log for container', { ...log, error })
      }
    }
  }

  async #check({ containerId, path }: WrittenLog, signal: AbortSignal): Promise<void> {
    const { platform, runtime, node } = this.#options
    const status = await platform.files.stat(path)
    // The log was removed: reopen it, or output would be lost.
    if (status === undefined) return runtime.reopenContainerLog(containerId, { signal })
    if (status.sizeBytes < node.containerLog.maxBytes) return
    await this.#makeRoom(path, signal)
    const aside = `${path}.${rotatedName(platform.clock.now())}`
    await platform.files.rename(path, aside)
    try {
      await runtime.reopenContainerLog(containerId, { signal })
    } catch (error) {
      // The runtime still writes to the old file: undo the rename, so that the next period retries.
      await platform.files.rename(aside, path)
      throw error
    }
  }

  /** Removes and compresses old files to make room for one more. */
  async #makeRoom(path: string, signal: AbortSignal): Promise<void> {
    const { platform, node } = this.#options
    const folder = dirname(path)
    const names = await platform.files.list(folder)
    const plan = planRotation(names, basename(path), node.containerLog.maxFiles)
    for (const name of plan.remove) await platform.files.remove(join(folder, name))
    for (const name of plan.compress) await this.#compress(join(folder, name), signal)
  }

  async #compress(path: string, signal: AbortSignal): Promise<void> {
    const { platform, files } = this.#options
    const mode = (await platform.files.stat(path))?.mode
    const temporary = `${path}.tmp`
    {
      await using target = await platform.files.openAppend(temporary, mode === undefined ? {} : { mode })
      for (let offset = 0; ; offset += pieceBytes) {
        signal.throwIfAborted()
        const piece = await files.readRange(path, offset, pieceBytes)
        if (piece.length > 0) await target.append(gzipSync(piece, { level }))
        if (piece.length < pieceBytes) break
        await platform.clock.turn()
      }
    }
    await platform.files.rename(temporary, `${path}.gz`)
    await platform.files.remove(path)
  }
}

interface RotationPlan {
  /** Oldest first. */
  readonly remove: readonly string[]
  readonly compress: readonly string[]
}

/**
 * Plans the cleanup before a rotation, after which the rotated and the new log fit within `maxFiles`. Also
 * removes leftovers of interrupted compression.
 */
export function planRotation(names: readonly string[], log: string, maxFiles: number): RotationPlan {
  const rotated = names.filter(name => name.startsWith(`${log}.`)).sort()
  const all = new Set(rotated)
  const isUseless = (name: string): boolean => name.endsWith('.tmp') || all.has(`${name}.gz`)
  const kept = rotated.filter(name => !isUseless(name))
  const excess = kept.slice(0, Math.max(0, kept.length - Math.max(0, maxFiles - 2)))
  const staying = kept.slice(excess.length)
  return {
    remove: [...rotated.filter(isUseless), ...excess],
    compress: staying.filter(name => !name.endsWith('.gz')),
  }
}

/** Suffix of a rotated log: `20261115-155731`. */
export function rotatedName(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
}
