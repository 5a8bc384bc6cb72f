/**
 * `k8ts apiserver`, or a whole `k8ts up`, as a child process with its own folder, for tests with real
 * clients: real sockets, real TLS, real files. It is terminated with its parent process in any case.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Without controllers no ServiceAccounts are created for pods. */
const apiServerAlone = ['apiserver', '--disable-admission-plugins=ServiceAccount']

const program = fileURLToPath(new URL('../../k8ts', import.meta.url))

/** Longer than a start or stop takes on a slow machine; the program stops within ten seconds. */
const startMsMax = 60_000
const endMsMax = 10_000

/** A cluster for all tests of a file, stopped after the last one. */
export async function clusterForFile(options: ChildClusterOptions = {}): Promise<ChildCluster> {
  const cluster = await ChildCluster.start(options)
  after(() => cluster[Symbol.asyncDispose]())
  return cluster
}

export interface ChildClusterOptions {
  /** A folder that is kept after the test; by default a temporary one. */
  readonly folder?: string
  /** A free port by default. */
  readonly port?: number
  /** The value of `--store`. */
  readonly store?: string
  /** Number of simulated nodes, with controllers and a scheduler; when absent, only the API server runs. */
  readonly simulatedNodes?: number
  /** This machine is a node that runs containers; everything the cluster created is removed with it. */
  readonly containers?: boolean
  /** Additional flags. */
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
  readonly #isSupervised: boolean
  readonly #child: ChildProcess
  #output = ''

  private constructor(folder: string, options: ChildClusterOptions) {
    const { folder: given, port = 0, store = 'embedded', containers = false, flags: more = [] } = options
    this.folder = folder
    this.#ownsFolder = given === undefined
    this.#hasContainers = containers
    const parts = partsOf(options)
    const flags = ['--data-dir', folder, '--port', String(port), '--store', store, ...more]
    this.#isSupervised = parts[0] === 'up'
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

  /** Path of the administrator's kubeconfig. */
  get kubeconfig(): string {
    return join(this.folder, 'admin.conf')
  }

  /** The process that runs the cluster: that of `k8ts up` is the child of its supervisor. */
  get processId(): number {
    const pid = this.#child.pid!
    return this.#isSupervised ? Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) : pid
  }

  /** Output so far. */
  get output(): string {
    return this.#output
  }

  get port(): number {
    return Number(/^listening at https:.*:(\d+)$/m.exec(this.#output)![1])
  }

  /** Stops it with SIGTERM; fails when it does not exit in time or exits with an error. */
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

  /** Kills it with SIGKILL. */
  async kill(): Promise<void> {
    if (this.#isRunning) {
      const exit = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await exit
    }
    if (!this.#ownsFolder) return
    // `k8ts down` unmounts first: a recursive removal would follow mounts in the folder.
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
