/**
 * Runs postStart and preStop hooks: exec, httpGet and sleep. The caller sets the time limit with a signal.
 * Output of failed hooks goes to logs only, because it may contain secrets.
 */
import type { Container, HTTPGetAction, LifecycleHandler } from '#/api/generated/core/v1.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'

export interface LifecycleHooksOptions {
  readonly platform: Platform
  readonly runtime: ContainerRuntime
  readonly connectHttp: HttpConnect
  readonly metrics: KubeletMetrics
}

export interface HookTarget {
  readonly pod: KubeletPod
  readonly container: Container
  readonly containerId: string
  /** Pod IPs, primary first. */
  readonly addresses: readonly string[]
}

/** Limit of hook output in error messages. */
const outputCharactersMax = 1_000

export class LifecycleHooks {
  readonly #options: LifecycleHooksOptions

  constructor(options: LifecycleHooksOptions) {
    this.#options = options
  }

  /** Throws an Error with the cause. */
  async run(handler: LifecycleHandler, target: HookTarget, signal: AbortSignal): Promise<void> {
    if (handler.exec) return this.#exec(handler.exec.command ?? [], target, signal)
    if (handler.httpGet) return this.#request(handler.httpGet, target, signal)
    if (handler.sleep) return this.#sleep(Number(handler.sleep.seconds) * 1_000, signal)
    throw new Error(`invalid handler: ${Object.keys(handler).join(', ')}`)
  }

  async #sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    const { platform, metrics } = this.#options
    try {
      await platform.clock.sleep(delayMs, signal)
    } catch (error) {
      metrics.starts.sleepsTerminatedEarly.add()
      throw error
    }
  }

  async #exec(command: readonly string[], { containerId }: HookTarget, signal: AbortSignal): Promise<void> {
    const request = { containerId, command, timeoutMs: 0 }
    const { exitCode, stdout, stderr } = await this.#options.runtime.execSync(request, { signal })
    if (exitCode === 0) return
    const output = Buffer.concat([stdout, stderr]).toString().slice(0, outputCharactersMax)
    throw new Error(`command ${command.join(' ')} exited with ${exitCode}: ${output}`)
  }

  /** Any HTTP response counts as success. */
  async #request(action: HTTPGetAction, target: HookTarget, signal: AbortSignal): Promise<void> {
    const { scheme = 'HTTP', path = '/', httpHeaders = [] } = action
    const host = action.host || target.addresses[0]
    if (host === undefined) throw new Error('failed to find networking container: pod has no IP')
    const port = portOf(action, target.container)
    const origin = `${scheme.toLowerCase()}://${host.includes(':') ? `[${host}]` : host}:${port}`
    await using client = this.#options.connectHttp({ origin, tls: { insecureSkipVerify: true } })
    const headers: Record<string, string> = { 'user-agent': 'kube-lifecycle/1.36', 'accept': '*/*' }
    for (const { name, value } of httpHeaders) headers[name.toLowerCase()] = value
    const response = await client.request({ method: 'GET', path: rooted(path), headers, signal })
    response.discard()
  }
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

function portOf({ port }: HTTPGetAction, { ports = [] }: Container): number {
  const number = Number(ports.find(({ name }) => name === port)?.containerPort ?? port)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw new Error(`invalid port number: ${port}`)
}
