/**
 * A host of a cluster of several machines: runs the processes that its records name, and restarts those that exit. It
 * holds the lock of the folder, by which `k8ts status` and `k8ts reset` find it.
 */
import { dirname } from 'node:path'
import { equalJson } from '#/api/text/json-value.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import { limitOutputFile } from '#/platform/limit-output-file.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform, Process } from '#/platform/platform.ts'
import {
  processesFolder,
  processLogPath,
  readHostProcessRecords,
  type HostProcessRecord,
} from './host-process-records.ts'
import { runHostBalancer } from './host-balancer.ts'
import { keepHostCertificates } from './host-certificates.ts'
import { openDataFolder } from './data-folder-format.ts'
import type { HostProcessState, LockHolder } from './lock-folder.ts'
import { restartStaticPod } from './static-pod-manifests.ts'
import { SupervisedProcess } from './supervised-process.ts'

export interface HostOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'files' | 'run'>
  readonly connectHttp: HttpConnect
  readonly crypto: Crypto
  /** The folder of the host. */
  readonly folder: string
  /** The command that runs this program. */
  readonly program: readonly string[]
  /** This process. */
  readonly pid: number
  /** Of this k8ts. */
  readonly version: string
  /** Path of the program `k8ts`, if it has started this process. */
  readonly launcher?: string
  readonly supervisorPid?: number
}

/** Time of a process to exit after SIGTERM: a kubelet, an API server and etcd finish what they do. */
const stopMs = 10_000

/** Between checks of the sizes of logs. */
const logPeriodMs = 3_600_000

/** Processes that others need, which stop after them. */
const stoppedLast: readonly string[] = ['kube-apiserver', 'etcd']

interface RunningProcess {
  readonly record: HostProcessRecord
  readonly process: SupervisedProcess
}

export class Host {
  readonly #options: HostOptions
  readonly #running = new Map<string, RunningProcess>()
  #startedMs = 0
  /** Syncs run one after the other. */
  #syncing: Promise<void> = Promise.resolve()

  constructor(options: HostOptions) {
    this.#options = options
  }

  /** Runs until aborted. All processes have stopped when it resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, folder } = this.#options
    this.#startedMs = platform.clock.now()
    await platform.files.makeFolder(processesFolder(folder), { mode: 0o700 })
    await using _ = await openDataFolder(this.#options, () => this.#describe())
    using abort = new LinkedAbort(signal)
    const running = [
      runHostBalancer(this.#options, abort.signal),
      keepHostCertificates({ ...this.#options, restart: name => this.#restart(name) }, abort.signal),
      this.#followRecords(abort.signal),
      this.#limitLogs(abort.signal),
    ]
    try {
      await Promise.all(running)
    } finally {
      abort.abort(new Error('the host stops'))
      await this.#stop()
      await Promise.allSettled(running)
    }
  }

  /** Restarts a process or a static pod, which then reads its files again. */
  #restart(name: string): void {
    const { platform, folder } = this.#options
    const running = this.#running.get(name)
    if (running !== undefined) return running.process.restart()
    restartStaticPod(platform.files, { folder, name, nowMs: platform.clock.now() }).catch((error: unknown) =>
      platform.log.error('Failed to restart static pod', { pod: name, error }),
    )
  }

  #describe(): LockHolder {
    const { pid, version, launcher, supervisorPid } = this.#options
    const program = { version, ...(launcher !== undefined && { launcher }) }
    const holder = { pid, program, ...(supervisorPid !== undefined && { supervisorPid }) }
    const processes = [...this.#running]
      .map(([name, { process }]): HostProcessState => ({
        name,
        pid: process.pid,
        restarts: process.restarts,
      }))
      .sort((left, right) => (left.name < right.name ? -1 : 1))
    const isReady = processes.every(process => process.pid !== undefined)
    return { ...holder, startedMs: this.#startedMs, isReady, processes }
  }

  /** Processes of k8ts bound their output themselves; etcd does not. */
  async #limitLogs(signal: AbortSignal): Promise<void> {
    const { platform, linux, folder } = this.#options
    const { clock, files, log } = platform
    while (!signal.aborted) {
      const others = [...this.#running.values()].filter(({ record }) => record.command[0] !== 'k8ts')
      for (const { record } of others) {
        const path = processLogPath(folder, record.name)
        await limitOutputFile({ files, linux, path }).catch((error: unknown) =>
          log.warn('Failed to limit the size of a log', { path, error }),
        )
      }
      await clock.sleep(logPeriodMs, signal).catch(() => undefined)
    }
  }

  async #followRecords(signal: AbortSignal): Promise<void> {
    const { linux, folder } = this.#options
    const following = this.#syncOnChanges(linux.files.watch(processesFolder(folder), signal))
    // After the watch has begun, so that no change is missed.
    this.#syncNext()
    await following.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    await this.#syncing
  }

  async #syncOnChanges(changes: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of changes) this.#syncNext()
  }

  #syncNext(): void {
    const { log } = this.#options.platform
    this.#syncing = this.#syncing
      .then(() => this.#sync())
      .catch((error: unknown) => log.error('Failed to sync the processes of this host', { error }))
  }

  /** A process whose record has changed is restarted with the new command. */
  async #sync(): Promise<void> {
    const { platform, folder } = this.#options
    const records = await readHostProcessRecords(platform.files, folder)
    for (const [name, { record, process }] of this.#running) {
      if (records.some(each => isSame(each, record))) continue
      this.#running.delete(name)
      await process[Symbol.asyncDispose]()
    }
    for (const record of records) if (!this.#running.has(record.name)) this.#start(record)
  }

  #start(record: HostProcessRecord): void {
    const { platform, folder } = this.#options
    const process = new SupervisedProcess({
      platform,
      fields: { process: record.name },
      logPath: processLogPath(folder, record.name),
      stopMs,
      start: () => this.#startProcess(record),
    })
    this.#running.set(record.name, { record, process })
    process.start()
  }

  async #startProcess({ name, command, environment }: HostProcessRecord): Promise<Process> {
    const { platform, folder, program } = this.#options
    const [first, ...rest] = command
    const logPath = processLogPath(folder, name)
    const words = first === 'k8ts' ? [...program, ...rest] : command
    // The log is readable by root only; the umask of the process is not changed.
    const script = 'log=$1; shift; (umask 077; : >>"$log"); exec "$@" >>"$log" 2>&1'
    await platform.files.makeFolder(dirname(logPath), { mode: 0o700 })
    return platform.processes.start(['sh', '-c', script, 'sh', logPath, ...words], {
      environment: { ...environment, K8TS_OUTPUT_FILE: logPath },
    })
  }

  async #stop(): Promise<void> {
    const those = (names: (name: string) => boolean) =>
      [...this.#running].filter(([name]) => names(name)).map(([, { process }]) => process)
    const stop = (processes: readonly SupervisedProcess[]) =>
      Promise.all(processes.map(process => process[Symbol.asyncDispose]()))
    await stop(those(name => !stoppedLast.includes(name)))
    for (const last of stoppedLast) await stop(those(name => name === last))
  }
}

function isSame(a: HostProcessRecord, b: HostProcessRecord): boolean {
  return equalJson(a, b)
}
