/**
 * A private containerd: a child process with its own directory, socket and configuration, independent of
 * other containerd instances. It is restarted when it dies, while its containers continue under their shims,
 * and it dies with this process unless it is lasting. It always uses the cgroupfs driver, never systemd's.
 */
import { join } from 'node:path/posix'
import { abortable } from '#/base/abort.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform, Files } from '#/platform/platform.ts'
import { Containerd, type ContainerdOptions } from './containerd.ts'
import { CriError } from './cri.ts'
import { ContainerdLog, failureText, pluginFailureText } from './private-containerd/containerd-log.ts'
import {
  configurationPath,
  containerdConfiguration,
  containerdVersionOf,
} from './private-containerd/configuration.ts'
import {
  findLasting,
  startChild,
  startLasting,
  type ContainerdProcess,
} from './private-containerd/containerd-process.ts'
import { killOrphanedContainerd, OrphanRemover } from './private-containerd/orphan-remover.ts'
import { killShim, textOf } from './private-containerd/shims.ts'

export { killOrphanedContainerd } from './private-containerd/orphan-remover.ts'

export interface PrivateContainerdOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly connectGrpc: GrpcConnect
  readonly connectHttp: HttpConnect
  /** Root of all its state; created when missing. */
  readonly folder: string
  readonly cni: { readonly binFolder: string; readonly configFolder: string }
  /** Command prefix, for example to enter a network namespace. It must `exec` the command. */
  readonly launcher?: readonly string[]
  /** Pause image. */
  readonly sandboxImage?: string
  /** True if it goes on when this process ends: the next one continues with it. */
  readonly isLasting?: boolean
}

/** Of the containerd with this folder; see `PrivateContainerd.registryFolder`. */
export function registryFolder(folder: string): string {
  return join(folder, 'certs.d')
}

export const pauseImage = 'registry.k8s.io/pause:3.10'

export class PrivateContainerd implements AsyncDisposable {
  readonly folder: string
  readonly socketPath: string
  /** Registry configuration, `<host>/hosts.toml`; read on every pull. */
  readonly registryFolder: string
  readonly #options: PrivateContainerdOptions
  readonly #log: ContainerdLog
  readonly #stop = new AbortController()
  #process: ContainerdProcess | undefined
  #startedMs = 0
  #supervised: Promise<unknown> = Promise.resolve()
  readonly #orphans: OrphanRemover

  private constructor(options: PrivateContainerdOptions) {
    this.#options = options
    this.folder = options.folder
    this.socketPath = join(options.folder, 'containerd.sock')
    this.registryFolder = registryFolder(options.folder)
    this.#log = new ContainerdLog(options.platform.files, join(options.folder, 'containerd.log'))
    this.#orphans = new OrphanRemover({ ...options, socketPath: this.socketPath })
  }

  /** Resolves when containerd answers. Rejects with the cause from its log when it cannot start. */
  static async start(options: PrivateContainerdOptions, signal?: AbortSignal): Promise<PrivateContainerd> {
    const containerd = new PrivateContainerd(options)
    const { platform, linux, folder } = options
    if (containerd.socketPath.length > socketPathCharactersMax)
      throw new Error(`directory path too long for containerd's Unix sockets: ${folder}`)
    signal?.throwIfAborted()
    try {
      const hasChanged = await containerd.#writeConfiguration()
      const existing = hasChanged ? undefined : await containerd.#findExisting(signal)
      if (existing === undefined) await killOrphanedContainerd(platform, linux, folder)
      const process = existing ?? (await containerd.#startOnce(signal))
      containerd.#supervised = Promise.all([containerd.#supervise(process), containerd.#keepClean()])
      return containerd
    } catch (error) {
      await containerd[Symbol.asyncDispose]()
      throw error
    }
  }

  /** PID of the current process, for resource measurements. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  connect(options: Pick<ContainerdOptions, 'requestTimeoutMs'> = {}): Containerd {
    const { sandboxImage = pauseImage } = this.#options
    return Containerd.connect({
      ...this.#options,
      ...options,
      socketPath: this.socketPath,
      pinnedImages: [sandboxImage],
      killShim: sandboxId => killShim({ ...this.#options, socketPath: this.socketPath }, sandboxId),
    })
  }

  /**
   * Removes orphans (shims, bundles, network namespaces of unknown containers) at once, without their grace
   * period. No pod may be in creation. Orphans are otherwise removed in the background.
   */
  async removeOrphans(signal?: AbortSignal): Promise<void> {
    await this.#sweep(0, signal)
  }

  /**
   * Stops containerd unless it is lasting; its containers keep running, and the next instance on this directory finds
   * them.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    const process = this.#process
    if (process && !this.#options.isLasting) {
      await process.kill('SIGTERM')
      const timer = this.#options.platform.clock.setTimer(stopTimeoutMs, () => void process.kill('SIGKILL'))
      await process.exited
      timer.cancel()
    }
    await this.#supervised
    await this.#log[Symbol.asyncDispose]()
  }

  /** True if containerd must be started again to use it. */
  async #writeConfiguration(): Promise<boolean> {
    const { platform, linux, folder, cni, sandboxImage = pauseImage } = this.#options
    const { files } = platform
    const version = containerdVersionOf(await linux.run(inSearchPath(['containerd', '--version'])))
    if (version === undefined) throw new Error('cannot parse the output of `containerd --version`')
    await files.makeFolder(folder, { mode: 0o711 })
    await files.makeFolder(this.registryFolder)
    await files.makeFolder(cni.configFolder)
    const text = containerdConfiguration({
      version,
      folder,
      socketPath: this.socketPath,
      cni,
      sandboxImage,
      registryFolder: this.registryFolder,
      snapshotter: await chooseSnapshotter(files, linux, folder),
      canLowerOomScore: canLowerOomScore(Buffer.from(await files.read('/proc/self/status')).toString()),
    })
    const path = configurationPath(folder)
    if ((await textOf(files, path)) === text) return false
    await files.write(path, text, { mode: 0o600 })
    return true
  }

  /** The lasting containerd of a previous process, if it works. */
  async #findExisting(signal: AbortSignal | undefined): Promise<ContainerdProcess | undefined> {
    const { isLasting = false } = this.#options
    if (!isLasting) return undefined
    const existing = await findLasting({ ...this.#options, log: this.#log })
    if (existing === undefined || (await this.#readiness(signal)) !== 'ready') return undefined
    this.#process = existing
    this.#startedMs = this.#options.platform.clock.monotonicMs()
    return existing
  }

  async #startOnce(signal?: AbortSignal): Promise<ContainerdProcess> {
    const { platform, folder, launcher = [], isLasting = false } = this.#options
    await this.#log.forgetTail()
    const containerd = ['containerd', '--config', configurationPath(folder), '--log-level', logLevel]
    const command = [...launcher, ...inSearchPath(containerd)]
    const start = isLasting ? startLasting : startChild
    const process = await start({ ...this.#options, command, log: this.#log })
    this.#process = process
    this.#startedMs = platform.clock.monotonicMs()
    await platform.files.write(join(folder, 'containerd.pid'), `${process.pid}\n`)
    const waiting = AbortSignal.any(signal ? [signal, this.#stop.signal] : [this.#stop.signal])
    await this.#waitForReady(process.exited, waiting)
    return process
  }

  /** Rejects if containerd exits or does not answer in time. */
  async #waitForReady(gone: ContainerdProcess['exited'], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    let ended: { readonly signal: string | undefined } | undefined
    void gone.then(killedBy => (ended = { signal: killedBy }))
    const deadline = clock.monotonicMs() + startTimeoutMs
    for (;;) {
      const state = await this.#readiness(signal)
      if (state === 'ready') return
      signal.throwIfAborted()
      if (ended) throw new Error(`containerd cannot start: ${await this.#exitReason(ended.signal)}`)
      if (state === 'no-cri')
        throw new Error(
          `containerd's CRI plugin failed to load: ${pluginFailureText(await this.#log.tail())}`,
        )
      if (clock.monotonicMs() > deadline) {
        const seconds = startTimeoutMs / 1_000
        throw new Error(
          `containerd did not become ready within ${seconds} s: ${failureText(await this.#log.tail())}`,
        )
      }
      await clock.sleep(readyCheckMs, signal)
    }
  }

  async #readiness(signal: AbortSignal | undefined): Promise<'ready' | 'no-cri' | 'unavailable'> {
    // A failed channel backs off before it reconnects; a new one connects at once.
    await using runtime = this.connect()
    try {
      await runtime.version(signal)
      return 'ready'
    } catch (error) {
      return error instanceof CriError && error.reason === 'unsupported' ? 'no-cri' : 'unavailable'
    }
  }

  /** Restarts containerd whenever it exits, until disposed. */
  async #supervise(first: ContainerdProcess): Promise<void> {
    const { clock, log, random } = this.#options.platform
    let process: ContainerdProcess | undefined = first
    let failures = 0
    while (!this.#stop.signal.aborted) {
      const startedMs = clock.monotonicMs()
      const killedBy = process && (await this.#untilGone(process))
      if (this.#stop.signal.aborted) return
      if (process) log.warn('containerd exited, restarting', { reason: await this.#exitReason(killedBy) })
      failures = clock.monotonicMs() - startedMs > steadyMs ? 1 : failures + 1
      try {
        await clock.sleep(backoffMs(failures, restarting, random.fraction('containerd')), this.#stop.signal)
        process = await this.#startOnce()
      } catch (error) {
        if (this.#stop.signal.aborted) return
        log.error('Failed to restart containerd', { error })
        await this.#process?.kill('SIGKILL')
        await this.#process?.exited
        process = undefined
      }
    }
  }

  /** A lasting process is only followed until this one stops. */
  async #untilGone({ exited }: ContainerdProcess): Promise<string | undefined> {
    if (!this.#options.isLasting) return exited
    return abortable(exited, this.#stop.signal).catch(() => undefined)
  }

  /** Sweeps orphans periodically: often for a while after each start, rarely later. */
  async #keepClean(): Promise<void> {
    const { clock, log } = this.#options.platform
    const { signal } = this.#stop
    let sweptMs = -Infinity
    while (!signal.aborted) {
      try {
        await clock.sleep(sweepOftenMs, signal)
        if (this.#options.isLasting) await this.#log.limitFile(this.#options.linux)
        const nowMs = clock.monotonicMs()
        if (nowMs - this.#startedMs > recentMs && nowMs - sweptMs < sweepSeldomMs) continue
        sweptMs = nowMs
        await this.#sweep(orphanGraceMs, signal)
      } catch (error) {
        if (!signal.aborted) log.debug('Failed to sweep orphaned shims', { error })
      }
    }
  }

  async #sweep(graceMs: number, signal?: AbortSignal): Promise<void> {
    await using channel = this.#options.connectGrpc({ targets: [`unix:${this.socketPath}`] })
    await this.#orphans.sweep(channel, graceMs, signal)
  }

  /** A process killed by a signal logs no reason, so the signal is reported. */
  async #exitReason(killedBy: string | undefined): Promise<string> {
    if (killedBy !== undefined) return `it was killed by ${killedBy}`
    const tail = await this.#log.tail()
    // How a process that is not a child has ended is unknown, unless it has logged the reason.
    if (this.#options.isLasting && !exitMessage.test(tail)) return 'it has ended or was killed'
    return failureText(tail)
  }
}

const exitMessage = /^(containerd|panic|fatal error): |\blevel=(fatal|panic)\b/m

/** Unix socket paths are limited to 107 bytes; the ttrpc socket's suffix adds six. */
const socketPathCharactersMax = 100

const logLevel = 'warn'

/** containerd loads the state of all its containers first. */
const startTimeoutMs = 60_000
const readyCheckMs = 15
const stopTimeoutMs = 5_000

/** Uptime after which the restart backoff is reset. */
const steadyMs = 30_000
const restarting: Backoff = { initialMs: 20, maxMs: 2_000, factor: 3, jitter: 0.2 }

/** Time after a start during which orphans of interrupted pod creation can appear. */
const recentMs = 10 * 60_000
const sweepOftenMs = 20_000
const sweepSeldomMs = 10 * 60_000
/** Minimum age of an orphan, because containers in creation look the same. */
const orphanGraceMs = 30_000

/** Adds the sbin directories, where containerd finds runc and iptables. */
function inSearchPath(command: readonly string[]): string[] {
  return ['sh', '-c', 'PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; exec "$@"', 'sh', ...command]
}

/** True if CAP_SYS_RESOURCE is an effective capability. */
function canLowerOomScore(status: string): boolean {
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'
  return ((BigInt(`0x${capabilities}`) >> 24n) & 1n) === 1n
}

/**
 * Chooses overlayfs if the directory's filesystem supports an overlay upper layer, otherwise the native
 * snapshotter, which copies: slow and large.
 */
async function chooseSnapshotter(
  files: Files,
  linux: Linux,
  folder: string,
): Promise<'overlayfs' | 'native'> {
  const trial = join(folder, 'overlay-trial')
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map(name => join(trial, name))
  await linux.mounts.unmount(merged!)
  await files.remove(trial)
  for (const each of [lower, upper, work, merged]) await files.makeFolder(each!)
  try {
    const flags = [`lowerdir=${lower}`, `upperdir=${upper}`, `workdir=${work}`]
    await linux.mounts.mount({ source: 'overlay', target: merged!, type: 'overlay', flags })
    await linux.mounts.unmount(merged!)
    return 'overlayfs'
  } catch {
    return 'native'
  } finally {
    await files.remove(trial)
  }
}
