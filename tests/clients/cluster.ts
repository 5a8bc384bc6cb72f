/**
 * `k8ts apiserver`, or a whole `k8ts up`, as a child process with a folder of its own, for clients that people have:
 * real sockets, real TLS, real files. It dies with the process that started it, whatever becomes of that.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Without controllers nobody makes the accounts of pods. */
const apiServerAlone = ['apiserver', '--disable-admission-plugins=ServiceAccount']

const program = fileURLToPath(new URL('../../k8ts', import.meta.url))

/** Longer than a start or an end takes on a slow machine; the program promises to end within ten seconds. */
const startMsMax = 60_000
const endMsMax = 10_000

/** A cluster for all tests of a file, stopped after the last of them. */
export async function clusterForFile(options: ChildClusterOptions = {}): Promise<ChildCluster> {
  const cluster = await ChildCluster.start(options)
  after(() => cluster[Symbol.asyncDispose]())
  return cluster
}

export interface ChildClusterOptions {
  /** One that stays when the cluster ends; when absent it has one that goes with it. */
  readonly folder?: string
  /** Any that is free when absent. */
  readonly port?: number
  /** As `--store` has it. */
  readonly store?: string
  /** How many there are beside controllers and a scheduler; when absent, there is nothing but the API server. */
  readonly simulatedNodes?: number
  /** This machine is a node that runs containers; what the cluster has made is removed with it. */
  readonly containers?: boolean
  /** Further ones. */
  readonly flags?: readonly string[]
}

function partsOf({ simulatedNodes, containers }: ChildClusterOptions): readonly string[] {
  if (containers) return ['up', '--runtime', 'containerd']
  return simulatedNodes ? ['up', '--simulated-nodes', String(simulatedNodes)] : apiServerAlone
}

export class ChildCluster implements AsyncDisposable {
  readonly folder: string
  readonly #ownsFolder: boolean
  readonly #hasContainers: boolean
  readonly #child: ChildProcess
  #output = ''

  private constructor(folder: string, options: ChildClusterOptions) {
    const { folder: given, port = 0, store = 'embedded', containers = false, flags: more = [] } = options
    this.folder = folder
    this.#ownsFolder = given === undefined
    this.#hasContainers = containers
    const parts = partsOf(options)
    const flags = ['--data-dir', folder, '--port', String(port), '--store', store, ...more]
    const command = ['--pdeathsig', 'KILL', program, ...parts, ...flags]
    this.#child = spawn('setpriv', command, { stdio: ['ignore', 'pipe', 'pipe'] })
  }

  static async start(options: ChildClusterOptions = {}): Promise<ChildCluster> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'k8ts-cluster-')))
    const cluster = new ChildCluster(folder, options)
    try {
      await cluster.#becomesReady()
      return cluster
    } catch (error) {
      await cluster.kill()
      throw error
    }
  }

  /** The administrator's. */
  get kubeconfig(): string {
    return join(this.folder, 'admin.conf')
  }

  get processId(): number {
    return this.#child.pid!
  }

  /** What it has printed so far. */
  get output(): string {
    return this.#output
  }

  /** Where it listens. */
  get port(): number {
    return Number(/^listening at https:.*:(\d+)$/m.exec(this.#output)![1])
  }

  /** Ends it as people do, and tells when it does not go in time or not in peace. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    if (this.#isRunning) {
      const exit = once(child, 'exit', { signal: AbortSignal.timeout(endMsMax) })
      child.kill('SIGTERM')
      await exit.catch(() => undefined)
    }
    const { exitCode } = child
    await this.kill()
    if (exitCode !== 0) throw new Error(`k8ts up ended with ${exitCode ?? 'force'}: ${this.#output}`)
  }

  /** Ends it as a power failure does. */
  async kill(): Promise<void> {
    if (this.#isRunning) {
      const exit = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await exit
    }
    if (!this.#ownsFolder) return
    // What is mounted in the folder must not be followed.
    if (this.#hasContainers) await promisify(execFile)(program, ['down', '--data-dir', this.folder])
    else await rm(this.folder, { recursive: true, force: true })
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  #becomesReady(): Promise<void> {
    const { stdout, stderr } = this.#child
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(
      () => reject(new Error(`k8ts up does not become ready: ${this.#output}`)),
      startMsMax,
    )
    this.#child.once('error', reject)
    this.#child.once('exit', code => reject(new Error(`k8ts up ended with ${code}: ${this.#output}`)))
    for (const stream of [stdout, stderr]) {
      createInterface({ input: stream! }).on('line', line => {
        this.#output += `${line}\n`
        if (stream === stdout && line.startsWith('ready in')) resolve()
      })
    }
    return promise.finally(() => clearTimeout(timer))
  }
}
