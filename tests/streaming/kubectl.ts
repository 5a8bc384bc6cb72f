import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { StreamingCluster } from './streaming-cluster.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const program = process.env['KUBECTL'] ?? 'kubectl'

/** Runs kubectl as the administrator. It is killed when the test ends. */
export function startKubectl(
  { kubeconfig, folder }: StreamingCluster,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcessByStdio<Writable, Readable, Readable> {
  const env = { ...process.env, HOME: folder, KUBECONFIG: kubeconfig, ...environment }
  const command = ['--pdeathsig', 'KILL', program, ...words]
  return spawn('setpriv', command, { env, cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
}

export interface KubectlOptions {
  readonly input?: Uint8Array | string
  readonly environment?: Readonly<Record<string, string>>
}

export async function kubectl(
  cluster: StreamingCluster,
  words: readonly string[],
  { input = '', environment = {} }: KubectlOptions = {},
): Promise<Ended> {
  const { code, stdout, stderr } = await kubectlBytes(cluster, words, { input, environment })
  return { code, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** As above, for binary output. */
export async function kubectlBytes(
  cluster: StreamingCluster,
  words: readonly string[],
  { input = '', environment = {} }: KubectlOptions = {},
): Promise<{ readonly code: number | null; readonly stdout: Buffer; readonly stderr: Buffer }> {
  const child = startKubectl(cluster, words, environment)
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const exited = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([buffer(child.stdout), buffer(child.stderr), exited])
  return { code, stdout, stderr }
}
