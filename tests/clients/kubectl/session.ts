/** A shell with kubectl and k8ts for one test: with its own namespace, home and folder. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as k8s from '@kubernetes/client-node'
import { parse, stringify } from 'yaml'
import type { ChildCluster } from '../cluster.ts'

/** Upstream's, from the search path or another one: `KUBECTL=/opt/kubectl-1.30 npm test -- tests/clients/kubectl`. */
export const upstreamKubectl = process.env.KUBECTL ?? 'kubectl'

const k8ts = fileURLToPath(new URL('../../../k8ts', import.meta.url))

export const ownKubectl = fileURLToPath(new URL('../../../kubectl', import.meta.url))

/** The minor version of kubectl; undefined when it is not installed. */
export async function kubectlVersion(kubectl = upstreamKubectl): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)(kubectl, ['version', '--client', '-o', 'json'])
    const { clientVersion } = JSON.parse(stdout) as { readonly clientVersion: { readonly minor: string } }
    return Number.parseInt(clientVersion.minor, 10)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A kubectl that tests run. */
export interface TestedKubectl {
  /** For the names of tests. */
  readonly name: string
  /** Path, or a name on the search path. */
  readonly path: string
  /** Minor version. */
  readonly version: number
}

/** That of this tree, and upstream's where it is installed. */
export async function testedKubectls(): Promise<readonly TestedKubectl[]> {
  const version = await kubectlVersion()
  const own = { name: 'kubectl of k8ts', path: ownKubectl, version: 36 }
  return version === undefined
    ? [own]
    : [own, { name: `kubectl 1.${version}`, path: upstreamKubectl, version }]
}

export interface SessionOptions {
  readonly cluster: ChildCluster
  /** Created for the session. */
  readonly namespace: string
  /** Name or path of the program. */
  readonly kubectl: string
}

export class Session implements AsyncDisposable {
  readonly #folder: string
  readonly #environment: NodeJS.ProcessEnv

  private constructor(folder: string) {
    this.#folder = folder
    this.#environment = {
      ...process.env,
      // Garbage collection is off in such short-lived processes.
      GOGC: 'off',
      HOME: folder,
      KUBECONFIG: join(folder, 'kubeconfig'),
      PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter),
      TMPDIR: folder,
    }
  }

  static async start({ cluster, namespace, kubectl }: SessionOptions): Promise<Session> {
    const folder = await mkdtemp(join(tmpdir(), 'kubectl-'))
    const session = new Session(folder)
    const kubeconfig = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig
    for (const { context } of kubeconfig.contexts) context.namespace = namespace
    await writeFile(join(folder, 'kubeconfig'), stringify(kubeconfig))
    await mkdir(join(folder, 'bin'))
    await symlink(k8ts, join(folder, 'bin/k8ts'))
    if (kubectl.includes('/')) await symlink(kubectl, join(folder, 'bin/kubectl'))
    const config = new k8s.KubeConfig()
    config.loadFromFile(cluster.kubeconfig)
    await config.makeApiClient(k8s.CoreV1Api).createNamespace({ body: { metadata: { name: namespace } } })
    return session
  }

  /** The output of a command, with its exit code if not 0. */
  async run(command: string): Promise<string> {
    const child = this.#spawn(command)
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    const code = await new Promise<number | null>(resolve => child.once('close', resolve))
    return code === 0 ? printed : `${printed}\n[exit ${code}]`
  }

  /** The lines of a command's output as they are printed; undefined at the end. */
  follow(command: string): AsyncDisposable & { next(): Promise<string | undefined> } {
    const child = this.#spawn(`exec ${command}`)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return {
      async next() {
        const { value, done } = await lines.next()
        return done ? undefined : value
      },
      async [Symbol.asyncDispose]() {
        child.kill('SIGKILL')
        await lines.return?.()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }

  #spawn(command: string) {
    // Stderr is merged into stdout to keep the order of the output.
    const script = `exec 2>&1\n${command}`
    const options = { cwd: this.#folder, env: this.#environment }
    return spawn('sh', ['-c', script], { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  }
}

interface Kubeconfig {
  readonly contexts: readonly { readonly context: { namespace?: string } }[]
}
