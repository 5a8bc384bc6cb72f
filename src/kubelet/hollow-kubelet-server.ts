/**
 * The kubelet API of a hollow node, reached in process by the API server: logs, exec, attach, port-forward,
 * pods, stats and metrics, with the handlers of the real kubelet. It has no state of its own but limits and
 * counters, so that it is created for a node when it is first called.
 */
import { KeyedLimits } from '#/base/keyed-limits.ts'
import { parseSimulatedCommand, type CommandStep } from '#/cri/simulated-command.ts'
import { runSimulatedCommand } from '#/cri/run-simulated-command.ts'
import { CriError, runtimeRequestTimeoutMs } from '#/cri/cri.ts'
import type { HttpClient } from '#/platform/http-client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { CommandOptions } from '#/streams/streams.ts'
import type { HollowKubelet } from './hollow-kubelet.ts'
import { simulatedLogs } from './hollow-kubelet/simulated-logs.ts'
import { simulatedStats } from './hollow-kubelet/simulated-stats.ts'
import { isNamespaced, type KubeletPod } from './kubelet-pod.ts'
import { KubeletMetrics, type NodePods, type PodState } from './kubelet-metrics.ts'
import type { KubeletView } from './kubelet-view.ts'
import { sessionLimits } from './server/commands.ts'
import { parseTarget } from './server/parse-target.ts'
import { respondText } from './server/responses.ts'
import { findSharedRoute, type SharedRequest } from './server/routes.ts'
import { logLimits } from './server/show-container-log.ts'
import type { Summary } from './server/summary.ts'

export interface HollowKubeletServerOptions {
  readonly platform: Platform
  readonly kubelet: Pick<HollowKubelet, 'name' | 'pods' | 'onPodChange'>
  /** Aborting ends streams. */
  readonly signal: AbortSignal
}

export class HollowKubeletServer {
  /** Requests are not authenticated. */
  readonly client: HttpClient
  readonly #options: HollowKubeletServerOptions
  readonly #metrics = new KubeletMetrics()
  readonly #shared: Omit<SharedRequest, 'exchange' | 'query' | 'parameters'>

  constructor(options: HollowKubeletServerOptions) {
    const { platform, kubelet, signal } = options
    this.#options = options
    this.#metrics.countPods(() => nodePods(podsOf(kubelet)))
    this.client = inProcessHttp(exchange => void this.#serve(exchange))
    const stats = (): Promise<Summary> => Promise.resolve(this.#stats())
    this.#shared = {
      platform,
      runtime: this.#runtime(),
      node: { runtimeRequestTimeoutMs, streamingConnectionIdleTimeoutMs: 4 * 3_600_000 },
      view: viewOf(kubelet),
      containerLogs: simulatedLogs(kubelet, platform.clock),
      stats: { summary: stats, usage: stats, resources: stats },
      volumeStats: { families: () => Promise.resolve([]) },
      metrics: this.#metrics,
      sessionLimits: new KeyedLimits(sessionLimits),
      logLimits: new KeyedLimits(logLimits),
      signal,
    }
  }

  /** Never rejects. */
  async #serve(exchange: HttpExchange): Promise<void> {
    using _ = this.#metrics.http.begin(exchange, this.#options.platform.clock)
    try {
      await this.#answer(exchange)
    } catch (error) {
      const { method, target } = exchange
      this.#options.platform.log.warn('Failed to serve request', { method, target, error })
      exchange.abort()
    }
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const parsed = parseTarget(exchange.target)
    if (parsed === undefined) return respondText(exchange, 400, 'invalid URL path\n')
    const route = findSharedRoute(exchange.method, parsed.path)
    if (route === 'not found') return respondText(exchange, 404, '404 page not found\n')
    if (route === 'not allowed') return respondText(exchange, 405, 'Method Not Allowed')
    const { parameters } = route
    await route.handle({ ...this.#shared, exchange, query: parsed.query, parameters })
  }

  #runtime(): SharedRequest['runtime'] {
    const { platform, kubelet } = this.#options
    const { clock } = platform
    const notice = ({ stdout }: CommandOptions, text: string): readonly CommandStep[] => [
      {
        do: 'print',
        stream: stdout ? 'stdout' : 'stderr',
        text: `node ${kubelet.name} is simulated: ${text}\n`,
      },
      { do: 'exit', code: 0 },
    ]
    return {
      exec: async ({ command, stdin, stdout, stderr, tty }) => {
        const streams = { stdin, stdout, stderr, tty }
        const words = JSON.stringify(command)
        const steps = parseSimulatedCommand(command) ?? notice(streams, `the command ${words} was not run`)
        return runSimulatedCommand({ clock, streams, steps })
      },
      attach: async (_, streams) => {
        const steps = notice(streams, 'containers have no processes to attach to')
        return runSimulatedCommand({ clock, streams, steps })
      },
      portForward: (_, port) => {
        const text = `node ${kubelet.name} is simulated: no process listens on port ${port}`
        return Promise.reject(new CriError('failed', text))
      },
    }
  }

  #stats(): Summary {
    const { platform, kubelet } = this.#options
    return simulatedStats({ nodeName: kubelet.name, pods: podsOf(kubelet), nowMs: platform.clock.now() })
  }
}

function viewOf(kubelet: HollowKubeletServerOptions['kubelet']): KubeletView {
  const find = (uid: string): KubeletPod | undefined => {
    return podsOf(kubelet).find(({ metadata }) => metadata.uid === uid)
  }
  return {
    pods: () => podsOf(kubelet),
    pod: (namespace, name) => {
      const pod = kubelet.pods.get(`${namespace}/${name}`)
      return pod && isNamespaced(pod) ? pod : undefined
    },
    containerId: (uid, container) => {
      const { containerStatuses = [], initContainerStatuses = [] } = find(uid)?.status ?? {}
      const status = [...containerStatuses, ...initContainerStatuses].find(({ name }) => name === container)
      return status?.state?.running && status.containerID?.replace('simulated://', '')
    },
    sandboxId: uid => (find(uid)?.status?.phase === 'Running' ? uid : undefined),
    isSandboxResponding: async () => true,
    onPodChange: (uid, callback) => kubelet.onPodChange(uid, callback),
    claimUsage: () => Promise.resolve([]),
    problem: () => undefined,
  }
}

function podsOf({ pods }: HollowKubeletServerOptions['kubelet']): readonly KubeletPod[] {
  return pods.list().filter(isNamespaced)
}

function nodePods(pods: readonly KubeletPod[]): NodePods {
  return {
    pods: pods.map(podState),
    desired: { static: 0, regular: pods.length },
    mirrorPods: 0,
    mountedVolumes: new Map(),
    wantedVolumes: new Map(),
  }
}

function podState({ metadata, status }: KubeletPod): PodState {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = status ?? {}
  const isDone = phase === 'Succeeded' || phase === 'Failed'
  const states = [...containerStatuses, ...initContainerStatuses].map(({ state }) => state)
  return {
    isStatic: false,
    isActive: !isDone,
    isDesired: true,
    lifecycle: isDone ? 'terminated' : metadata.deletionTimestamp === undefined ? 'sync' : 'terminating',
    ephemeralContainers: 0,
    observed: {
      sandboxes: [{ isReady: phase === 'Running' }],
      containers: states.flatMap((state): PodState['observed']['containers'] => {
        if (state?.running) return [{ state: 'running' }]
        return state?.terminated ? [{ state: 'exited' }] : []
      }),
    },
  }
}
