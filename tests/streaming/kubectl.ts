import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ownKubectl, testedKubectls } from '../clients/kubectl/session.ts'
import type { StreamingCluster } from './streaming-cluster.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A kubectl, and the protocol that it uses for exec, attach and port-forward. */
export interface StreamClient {
  readonly name: string
  readonly protocol: 'websocket' | 'SPDY/3.1'
  readonly kubectl: string
  readonly environment: Readonly<Record<string, string>>
}

/** The first version of upstream with WebSockets for all commands. */
const webSocketVersion = 31

/** Both protocols with the kubectl of this tree, and those that upstream's has where it is installed. */
export const streamClients: readonly StreamClient[] = (await testedKubectls()).flatMap(
  ({ name, path, version }) =>
    (['websocket', 'SPDY/3.1'] as const)
      .filter(protocol => protocol !== 'websocket' || version >= webSocketVersion)
      .map((protocol): StreamClient => {
        const isEnabled = String(protocol === 'websocket')
        return {
          name: `${protocol} with ${name}`,
          protocol,
          kubectl: path,
          environment: {
            KUBECTL_REMOTE_COMMAND_WEBSOCKETS: isEnabled,
            KUBECTL_PORT_FORWARD_WEBSOCKETS: isEnabled,
          },
        }
      }),
)

/** Runs kubectl as the administrator. It is killed when the test ends. */
export function startKubectl(
  { kubeconfig, folder }: StreamingCluster,
  words: readonly string[],
  { kubectl = ownKubectl, environment = {} }: Partial<StreamClient> = {},
): ChildProcessByStdio<Writable, Readable, Readable> {
  const env = { ...process.env, HOME: folder, KUBECONFIG: kubeconfig, ...environment }
  const command = ['--pdeathsig', 'KILL', kubectl, ...words]
  return spawn('setpriv', command, { env, cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
}

export interface KubectlOptions {
  readonly input?: Uint8Array | string
  /** The kubectl of this tree by default. */
  readonly client?: StreamClient
}

export async function kubectl(
  cluster: StreamingCluster,
  words: readonly string[],
  options: KubectlOptions = {},
): Promise<Ended> {
  const { code, stdout, stderr } = await kubectlBytes(cluster, words, options)
  return { code, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** As above, for binary output. */
export async function kubectlBytes(
  cluster: StreamingCluster,
  words: readonly string[],
  { input = '', client }: KubectlOptions = {},
): Promise<{ readonly code: number | null; readonly stdout: Buffer; readonly stderr: Buffer }> {
  const child = startKubectl(cluster, words, client)
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const exited = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([buffer(child.stdout), buffer(child.stderr), exited])
  return { code, stdout, stderr }
}
