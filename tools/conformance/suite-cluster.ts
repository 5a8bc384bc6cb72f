/** The cluster of a run: `k8ts up` as a child process, with a folder of its own. `k8ts down` removes it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ProxyMode } from '#/proxy/proxier.ts'

export interface SuiteClusterOptions {
  /** Does not exist yet. */
  readonly folder: string
  readonly runtime: 'containerd' | 'simulated'
  readonly nodes?: number
  readonly proxyMode?: ProxyMode
  /** Stands for every registry. */
  readonly registryUrl?: string
  readonly path: string
  /** File for everything that k8ts prints. */
  readonly log: string
}

export class SuiteCluster implements AsyncDisposable {
  /** Aborted when the cluster ended by itself. */
  readonly ended: AbortSignal
  readonly #options: SuiteClusterOptions
  readonly #process: ChildProcess

  private constructor(options: SuiteClusterOptions, child: ChildProcess, ended: AbortSignal) {
    this.#options = options
    this.#process = child
    this.ended = ended
  }

  /** Rejects with the last lines that k8ts printed when it ended before it was ready. */
  static async start(options: SuiteClusterOptions, signal: AbortSignal): Promise<SuiteCluster> {
    const child = spawn(program, ['up', ...upFlags(options)], {
      // A process group of its own: ctrl-C in the terminal is not for it.
      detached: true,
      env: { ...process.env, PATH: options.path },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new AbortController()
    const cluster = new SuiteCluster(options, child, ended.signal)
    const log = createWriteStream(options.log)
    child.once('close', (code, killedBy) => {
      log.end()
      ended.abort(new Error(`k8ts up ended with ${killedBy ?? code}: see ${options.log}`))
    })
    try {
      await cluster.#untilReady(log, signal)
      return cluster
    } catch (error) {
      // Why it did not start matters more than what of it could not be removed.
      await cluster[Symbol.asyncDispose]().catch(() => undefined)
      throw error
    }
  }

  get kubeconfig(): string {
    return join(this.#options.folder, 'admin.conf')
  }

  async loadImages(archives: readonly string[], signal: AbortSignal): Promise<void> {
    if (archives.length > 0) await this.#run(['image', 'load', ...archives], signal)
  }

  /** What still starts would make anew what `k8ts down` has removed, so it is ended first. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [signal, withinMs] of [
      ['SIGTERM', stopMs],
      ['SIGKILL', killMs],
    ] as const) {
      if (this.ended.aborted || !this.#process.kill(signal)) break
      await Promise.race([once(this.ended, 'abort'), sleep(withinMs, undefined, { ref: false })])
    }
    await this.#run(['down'])
  }

  async #untilReady(log: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
    const last: string[] = []
    const ready = new Promise<void>(resolve => {
      for (const stream of [this.#process.stdout!, this.#process.stderr!]) {
        stream.pipe(log, { end: false })
        createInterface({ input: stream }).on('line', line => {
          last.push(line)
          if (last.length > linesKept) last.shift()
          if (line.startsWith('ready in ')) resolve()
        })
      }
    })
    const stopped = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error(`the cluster did not start: ${last.join('\n')}`))
      this.ended.addEventListener('abort', fail, { once: true })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      if (signal.aborted) reject(signal.reason)
    })
    await Promise.race([ready, stopped])
  }

  /** Runs a command of k8ts on this cluster. Rejects with what it printed when it fails. */
  async #run(words: readonly string[], signal?: AbortSignal): Promise<void> {
    const { folder, path } = this.#options
    const child = spawn(program, [...words, '--data-dir', folder], {
      detached: true,
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(signal && { signal }),
    })
    let said = ''
    child.stderr.on('data', chunk => (said += chunk))
    const [[code]] = await Promise.all([once(child, 'exit'), finished(child.stderr)])
    if (code !== 0) throw new Error(`k8ts ${words[0]} failed: ${said.trim()}`)
  }
}

const program = fileURLToPath(new URL('../../k8ts', import.meta.url))
const linesKept = 20
/** It ends within ten seconds by itself. */
const stopMs = 15_000
const killMs = 5_000

function upFlags({ folder, runtime, nodes, proxyMode, registryUrl }: SuiteClusterOptions): string[] {
  const mirror = registryUrl === undefined ? [] : ['--registry-mirror', `_default=${registryUrl}`]
  const count = nodes === undefined ? [] : ['--nodes', String(nodes)]
  const mode = proxyMode === undefined ? [] : ['--proxy-mode', proxyMode]
  return ['--data-dir', folder, '--port', '0', '--runtime', runtime, ...count, ...mode, ...mirror]
}
