/** Runs kubectl against a streaming server, over either of its protocols. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { StreamClient } from './kubectl.ts'
import type { PodServer } from './pod-server.ts'

export interface Outcome {
  readonly stdout: Buffer
  readonly stderr: string
  readonly code: number
}

export class Kubectl {
  readonly #server: Pick<PodServer, 'kubeconfig'>
  readonly #client: StreamClient

  constructor(server: Pick<PodServer, 'kubeconfig'>, client: StreamClient) {
    this.#server = server
    this.#client = client
  }

  start(...words: readonly string[]): ChildProcessWithoutNullStreams {
    const { kubeconfig } = this.#server
    const { environment, kubectl } = this.#client
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: dirname(kubeconfig), ...environment }
    const child = spawn(kubectl, words, { stdio: 'pipe', env })
    child.stdin.on('error', () => undefined)
    return child
  }

  async run(words: readonly string[], input?: Buffer): Promise<Outcome> {
    const child = this.start(...words)
    child.stdin.end(input)
    const exited = once(child, 'exit')
    const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)])
    const [code] = await exited
    return { stdout, stderr: stderr.toString(), code: Number(code) }
  }

  /** Resolves with the local port when it is forwarded. */
  async forward(
    t: TestContext,
    port: number,
  ): Promise<{ readonly local: number; readonly child: ChildProcessWithoutNullStreams }> {
    const child = this.start('port-forward', 'web', `:${port}`)
    t.after(() => child.kill('SIGKILL'))
    child.stdin.end()
    let text = ''
    for await (const piece of child.stdout.iterator({ destroyOnReturn: false })) {
      text += String(piece)
      const local = /127\.0\.0\.1:(\d+) ->/.exec(text)?.[1]
      if (local === undefined) continue
      child.stdout.resume()
      return { local: Number(local), child }
    }
    throw new Error(`kubectl has ended: ${text}`)
  }
}

/** Sends everything to a local port, and returns the response. */
export async function talk(port: number, input: Buffer): Promise<Buffer> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  socket.on('error', () => undefined)
  socket.end(input)
  return buffer(socket).catch(() => Buffer.alloc(0))
}

export function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
