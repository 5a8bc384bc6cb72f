import { duplexPair, type Duplex } from 'node:stream'
import type { Platform, Timer } from '#/platform/platform.ts'
import type { CommandOptions } from '#/streams/streams.ts'
import {
  CriError,
  type ContainerConfig,
  type ContainerState,
  type ContainerStats,
  type ContainerStatus,
  type ContainerSummary,
  type ExecResult,
  type Image,
  type LinuxResources,
  type SandboxConfig,
} from '../cri.ts'
import type { CallDeadline } from './call-deadline.ts'
import { CommandRun } from './command-run.ts'
import { ContainerLog } from './container-log.ts'
import { nanoseconds } from './nanoseconds.ts'
import { killedCode, planExec, planContainerRun } from './plan-container-run.ts'
import type { ContainerScript } from './script.ts'
import { SimulatedProcess } from './simulated-process.ts'

export interface SimulatedContainerOptions {
  readonly platform: Platform
  readonly id: string
  readonly sandboxId: string
  readonly sandbox: SandboxConfig
  readonly config: ContainerConfig
  readonly image: Image
  /** Evaluated on each use, because scripts can change while the container runs. */
  readonly script: () => ContainerScript
  readonly onChange: () => void
}

/** 128 + SIGTERM. */
const terminatedCode = 143
const startErrorCode = 128

const usualMemoryBytes = 8 * 1_024 * 1_024

export class SimulatedContainer {
  readonly options: SimulatedContainerOptions
  readonly logPath: string
  readonly #createdAt: bigint
  readonly #log: ContainerLog
  readonly #ended = Promise.withResolvers<void>()
  readonly #attached = new Set<SimulatedProcess>()
  readonly #execs = new Map<SimulatedProcess, CommandRun>()
  #state: ContainerState = 'created'
  #startedAt = 0n
  #finishedAt = 0n
  #exitCode = 0
  #reason = ''
  #message = ''
  #resources: LinuxResources
  #run: CommandRun | undefined
  /** Deadline of a requested stop. */
  #stop: { readonly atMs: number; readonly timer: Timer } | undefined
  #isEnding = false

  constructor(options: SimulatedContainerOptions) {
    const { platform, config, sandbox } = options
    this.options = options
    this.logPath = `${sandbox.logFolder}/${config.logPath}`
    this.#resources = config.resources
    this.#createdAt = nanoseconds(platform.clock.now())
    this.#log = new ContainerLog(platform, this.logPath)
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** Throws if the container cannot start; it is in state `exited` then. */
  start(): void {
    const { platform, config, sandbox, script, onChange } = this.options
    if (this.#state !== 'created') {
      const state = `CONTAINER_${this.#state.toUpperCase()}`
      throw new CriError(
        'failed',
        `failed to start container "${this.options.id}": container is in ${state} state`,
      )
    }
    const now = script()
    if (now.startError !== undefined) {
      const message = `failed to create containerd task: ${now.startError}`
      this.#finish(startErrorCode, 'StartError', message)
      throw new CriError('failed', message)
    }
    this.#state = 'running'
    this.#startedAt = nanoseconds(platform.clock.now())
    const command = [...config.command, ...config.args]
    this.#run = new CommandRun({
      clock: platform.clock,
      steps: planContainerRun({ script: now, command, annotations: sandbox.annotations }),
      hasInput: config.stdin,
      print: (stream, bytes) => this.#print(stream, bytes),
      writeFile: (path, text) => this.#writeFile(path, text),
      onExit: code => this.end(code, script().isOutOfMemory ?? false),
    })
    this.#run.start()
    onChange()
  }

  /** Resolves when the container has exited. */
  async stop(graceMs: number, time: CallDeadline): Promise<void> {
    if (this.#state !== 'running') return
    const { stopMs = 0, stopExitCode = terminatedCode } = this.options.script()
    if (stopMs <= graceMs && graceMs > 0) this.#endIn(stopMs, stopExitCode)
    else this.#endIn(graceMs, killedCode)
    await time.until(this.#ended.promise)
  }

  end(exitCode: number, isOutOfMemory = false): void {
    if (this.#state !== 'running' || this.#isEnding) return
    this.#finish(exitCode, isOutOfMemory ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error', '')
  }

  exec(command: readonly string[], streams: CommandOptions): SimulatedProcess {
    const process = new SimulatedProcess(streams, () => this.#endExec(process))
    const print = (stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> =>
      process.print(stream, bytes)
    const run = this.#runExec(command, { hasInput: streams.stdin, print }, code => {
      this.#execs.delete(process)
      process.finish({ type: 'exited', code })
    })
    process.connect(run)
    this.#execs.set(process, run)
    run.start()
    return process
  }

  async execSync(command: readonly string[], timeoutMs: number, time: CallDeadline): Promise<ExecResult> {
    const streams = { stdin: false, stdout: true, stderr: true, tty: false }
    await using process = this.exec(command, streams)
    const { clock } = this.options.platform
    const late = Promise.withResolvers<never>()
    const timer =
      timeoutMs > 0 ? clock.setTimer(timeoutMs, () => late.reject(execTimeout(timeoutMs))) : undefined
    try {
      const all = Promise.all([collect(process.stdout), collect(process.stderr), process.result])
      const [stdout, stderr, result] = await time.until(Promise.race([all, late.promise]))
      return { stdout, stderr, exitCode: result.type === 'exited' ? result.code : killedCode }
    } finally {
      timer?.cancel()
    }
  }

  attach(streams: CommandOptions): SimulatedProcess {
    this.#checkRuns()
    const process = new SimulatedProcess(streams, () => this.#attached.delete(process))
    process.connect(this.#run)
    this.#attached.add(process)
    return process
  }

  /** Undefined if the port is not listening. */
  connect(port: number): Duplex | undefined {
    const script = this.isRunning ? this.options.script().ports?.[port] : undefined
    if (script === undefined) return undefined
    const [outside, inside] = duplexPair()
    // Resetting one end must not raise an unhandled error on the other.
    for (const end of [outside, inside]) end.on('error', () => undefined)
    if (typeof script === 'function') script(inside)
    else if (script === 'echo') inside.pipe(inside)
    else inside.resume().end(script.answer)
    return outside
  }

  reopenContainerLog(): Promise<void> {
    this.#checkRuns()
    return this.#log.reopen()
  }

  updateContainerResources(resources: LinuxResources): void {
    this.#resources = { ...this.#resources, ...resources }
  }

  summary(): ContainerSummary {
    const { id, sandboxId, config } = this.options
    const { name, attempt, image, labels, annotations } = config
    const createdAt = this.#createdAt
    return { id, sandboxId, name, attempt, state: this.#state, image, createdAt, labels, annotations }
  }

  status(): ContainerStatus {
    const { config, image } = this.options
    const { sandboxId: _, ...summary } = this.summary()
    return {
      ...summary,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      exitCode: this.#exitCode,
      reason: this.#reason,
      message: this.#message,
      userImage: image.tags[0] ?? config.userImage,
      imageRef: image.digests[0] ?? image.id,
      logPath: this.logPath,
      mounts: config.mounts,
      resources: this.#resources,
      user: userOf(config, image),
    }
  }

  stats(): ContainerStats {
    const { id, config, sandbox, platform, script } = this.options
    const { cpuMillicores = 1, memoryBytes = usualMemoryBytes, writableLayerBytes = 0 } = script()
    const timestamp = nanoseconds(platform.clock.now())
    return {
      containerId: id,
      name: config.name,
      podUid: sandbox.metadata.uid,
      timestamp,
      cpuNanoseconds: ((timestamp - this.#startedAt) * BigInt(Math.round(cpuMillicores))) / 1_000n,
      memoryWorkingSetBytes: memoryBytes,
      memoryUsageBytes: memoryBytes,
      memoryRssBytes: memoryBytes,
      memoryPageFaults: 0,
      memoryMajorPageFaults: 0,
      writableLayerBytes,
      writableLayerInodes: 0,
    }
  }

  #checkRuns(): void {
    if (this.#state === 'running') return
    throw new CriError('failed', `container is in CONTAINER_${this.#state.toUpperCase()} state`)
  }

  #runExec(
    command: readonly string[],
    { hasInput, print }: Pick<ConstructorParameters<typeof CommandRun>[0], 'hasInput' | 'print'>,
    onExit: (code: number) => void,
  ): CommandRun {
    this.#checkRuns()
    const { execs = {} } = this.options.script()
    const script = execs[command.join(' ')] ?? execs['*']
    if (script?.error !== undefined)
      throw new CriError('failed', `failed to exec in container: ${script.error}`)
    const writeFile = (path: string, text: string): Promise<void> => this.#writeFile(path, text)
    const { clock } = this.options.platform
    return new CommandRun({ clock, steps: planExec(command, script), hasInput, print, writeFile, onExit })
  }

  #endExec(process: SimulatedProcess): void {
    this.#execs.get(process)?.cutOff()
    this.#execs.delete(process)
    process.finish({ type: 'exited', code: killedCode })
  }

  #endIn(ms: number, exitCode: number): void {
    const { clock } = this.options.platform
    if (ms <= 0) return this.end(exitCode)
    const atMs = clock.monotonicMs() + ms
    if (ms === Infinity || (this.#stop && this.#stop.atMs <= atMs)) return undefined
    this.#stop?.timer.cancel()
    this.#stop = { atMs, timer: clock.setTimer(ms, () => this.end(exitCode)) }
  }

  async #print(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    const target = this.options.config.tty ? 'stdout' : stream
    await Promise.all([
      this.#log.write(target, bytes),
      ...[...this.#attached].map(one => one.print(target, bytes)),
    ])
  }

  /** Writes only to mounts from the node. */
  async #writeFile(path: string, text: string): Promise<void> {
    const { config, platform } = this.options
    const mount = config.mounts.findLast(({ containerPath }) => {
      return path === containerPath || path.startsWith(`${containerPath}/`)
    })
    if (mount === undefined || mount.readonly) return
    const hostPath = `${mount.hostPath}${path.slice(mount.containerPath.length)}`
    await platform.files.write(hostPath, text).catch((error: unknown) => {
      platform.log.warn('Simulated container failed to write file', { path: hostPath, error })
    })
  }

  /** The log is flushed before the state becomes `exited`. */
  #finish(exitCode: number, reason: string, message: string): void {
    const { platform, onChange } = this.options
    this.#isEnding = true
    this.#run?.cutOff()
    this.#stop?.timer.cancel()
    const finishedAt = nanoseconds(platform.clock.now())
    const finish = (): void => {
      this.#state = 'exited'
      this.#finishedAt = finishedAt
      this.#exitCode = exitCode
      this.#reason = reason
      this.#message = message
      for (const process of this.#execs.keys()) this.#endExec(process)
      for (const process of this.#attached) process.finish({ type: 'exited', code: exitCode })
      this.#attached.clear()
      this.#ended.resolve()
      onChange()
    }
    if (this.#log.isOpen) void this.#log.close().then(finish)
    else finish()
  }
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(stream))
}

function execTimeout(timeoutMs: number): CriError {
  const seconds = timeoutMs / 1_000
  const text = `failed to exec in container: timeout ${seconds}s exceeded: context deadline exceeded`
  return new CriError('timeout', text)
}

function userOf({ security }: ContainerConfig, image: Image): NonNullable<ContainerStatus['user']> {
  const { runAsUser, runAsGroup = 0, supplementalGroups } = security
  return { uid: runAsUser ?? image.uid ?? 0, gid: runAsGroup, supplementalGroups }
}
