/** Test kubelet with a simulated runtime and a real API server in virtual time. */
import type { TestContext } from 'node:test'
import type { ContainerStatus, Event, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { TransportError } from '#/client/transport.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import type { SimulatedRuntime, SimulatedRuntimeOptions } from '#/cri/simulated.ts'
import type { Platform } from '#/platform/platform.ts'
import type { SimulatedLinux } from '#/platform/simulated.ts'
import type { Kubelet, KubeletOptions } from './kubelet.ts'
import { kubeletConfiguration, type KubeletConfiguration } from './kubelet-configuration.ts'
import { calledBy, SimulatedMachine } from './simulated-machine.ts'

export interface TestKubeletOptions extends Partial<SimulatedRuntimeOptions> {
  /** Starts with an unavailable API server. */
  readonly isApiAway?: boolean
  readonly settings?: Partial<KubeletConfiguration>
  readonly protectPod?: KubeletOptions['protectPod']
}

const nodeName = 'n1'
const namespace = 'default'

export class TestKubelet {
  readonly plane: TestControlPlane
  readonly settings: KubeletConfiguration
  readonly platform: Platform
  kubelet: Kubelet
  readonly #machine: SimulatedMachine
  readonly #client: Client
  /** True if the API server is unavailable to the kubelet. */
  isApiAway: boolean
  #crash = new AbortController()
  #callsLeft = Infinity
  #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()

  private constructor(plane: TestControlPlane, options: TestKubeletOptions) {
    const { simulation } = plane
    const platform = simulation.host('node')
    this.plane = plane
    this.platform = platform
    this.settings = kubeletConfiguration({
      name: nodeName,
      addresses: ['192.0.2.1'],
      rootDirectory: '/node',
      cgroupRoot: '/test',
      clusterDNS: ['10.96.0.10'],
      ...options.settings,
    })
    const node = this.settings
    this.#machine = new SimulatedMachine({ platform, node, podCidrs: ['10.244.0.0/24'], ...options })
    this.isApiAway = options.isApiAway ?? false
    const client = plane.clientAs(`system:node:${nodeName}`, ['system:nodes'])
    this.#client = unreliable(client, () => this.isApiAway)
    this.kubelet = this.#make()
  }

  get runtime(): SimulatedRuntime {
    return this.#machine.runtime
  }

  get linux(): SimulatedLinux {
    return this.#machine.linux
  }

  static async start(t: Pick<TestContext, 'after'>, options: TestKubeletOptions = {}): Promise<TestKubelet> {
    const plane = await startTestControlPlane(t, [])
    const test = new TestKubelet(plane, options)
    await plane.run(test.#machine.boot())
    test.begin()
    t.after(() => test.stop())
    await plane.settle()
    return test
  }

  begin(): void {
    this.#stopping = new AbortController()
    this.kubelet = this.#make()
    this.#running = this.kubelet.run(this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    if (this.isDead) return
    await this.plane.run(this.#running)
  }

  /**
   * Crashes the kubelet during a later call: after `calls` more calls, the next one is executed without an
   * answer, and no further call is executed.
   */
  dieAfter(calls: number): void {
    this.#callsLeft = calls
  }

  /** True if it has crashed. */
  get isDead(): boolean {
    return this.#crash.signal.aborted
  }

  async restart(): Promise<void> {
    await this.stop()
    this.begin()
    await this.plane.settle()
  }

  async create(name: string, spec: PodSpec, metadata: NonNullable<Pod['metadata']> = {}): Promise<void> {
    await this.plane.run(this.start(name, spec, metadata))
    await this.plane.settle()
  }

  /** Like `create`, without advancing time. */
  async start(name: string, spec: PodSpec, metadata: NonNullable<Pod['metadata']> = {}): Promise<Pod> {
    return this.plane.client.create(pods, {
      metadata: { namespace, name, ...metadata },
      spec: { nodeName, automountServiceAccountToken: false, ...spec },
    })
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }
    await this.plane.run(this.plane.client.delete(pods, { namespace, name }, options))
  }

  advance(seconds: number): Promise<void> {
    return this.plane.advance(seconds * 1_000)
  }

  find(name: string): Promise<Pod | undefined> {
    return this.plane.run(this.plane.client.find(pods, { namespace, name }))
  }

  /** Phase, readiness and containers; `gone` if the pod is not in the API. */
  async see(name: string): Promise<string> {
    const pod = await this.find(name)
    return pod === undefined ? 'gone' : showPod(pod)
  }

  /** Events of a pod in order: `Reason: message`. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.plane.run(this.plane.client.list(events, { namespace }))
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a: Event, b: Event) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .map(({ reason, message, count = 1 }) => `${reason}: ${message}${count > 1 ? ` (${count})` : ''}`)
  }

  /** Records the pod on each update from now on. */
  follow(t: Pick<TestContext, 'after'>, name: string): readonly string[] {
    const seen: string[] = []
    const stopping = new AbortController()
    const { signal } = stopping
    const run = async (): Promise<void> => {
      for await (const { object, type } of this.plane.client.watch(pods, { namespace, signal })) {
        if (type === 'BOOKMARK' || object.metadata.name !== name) continue
        seen.push(type === 'DELETED' ? 'gone' : showPod(object))
      }
    }
    run().catch(() => undefined)
    t.after(() => stopping.abort())
    return seen
  }

  /** Sandboxes, then containers with their states. */
  async runtimeState(): Promise<string> {
    const [sandboxes, containers] = await this.plane.run(
      Promise.all([this.runtime.listPodSandbox(), this.runtime.listContainers()]),
    )
    const shown = containers.map(({ name, attempt, state }) => `${name}#${attempt} ${state}`).sort()
    return [
      `${sandboxes.filter(({ state }) => state === 'ready').length}/${sandboxes.length}`,
      ...shown,
    ].join(' ')
  }

  async runningId(name: string): Promise<string> {
    const containers = await this.plane.run(this.runtime.listContainers())
    return containers.find(container => container.name === name && container.state === 'running')?.id ?? ''
  }

  async writeManifest(name: string, text: string | undefined): Promise<void> {
    const folder = `${this.settings.rootDirectory}/manifests`
    const { files } = this.platform
    await this.plane.run(
      text === undefined ? files.remove(`${folder}/${name}`) : files.write(`${folder}/${name}`, text),
    )
    this.linux.files.tell(folder)
    await this.plane.settle()
  }

  #make(): Kubelet {
    this.#crash = new AbortController()
    this.#callsLeft = Infinity
    const { signal } = this.#crash
    const onCall = (): void => {
      if (--this.#callsLeft < 0) this.#crash.abort()
    }
    const process = { platform: this.platform, signal, onCall }
    return this.#machine.kubelet({ ...process, client: calledBy(process, this.#client) })
  }
}

/** All calls fail while the API server is unavailable. */
function unreliable(client: Client, isAway: () => boolean): Client {
  const gone = (): Error => new TransportError('unreachable', 'the API server is away')
  return new Proxy(client, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name, own)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (!isAway()) return Reflect.apply(value, own, parameters) as unknown
        if (name === 'watch' || name === 'watchBatches') return failing(gone())
        return Promise.reject(gone())
      }
    },
  })
}

function failing(reason: Error): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) }
}

/** Status of the node's Ready condition in the API. */
export async function nodeOf({ plane }: TestKubelet): Promise<string | undefined> {
  const node = await plane.run(plane.client.find(nodes, { name: nodeName }))
  return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status
}

function showPod(pod: Pod): string {
  const { phase, reason, conditions = [], ...status } = pod.status ?? {}
  const isReady = conditions.some(condition => condition.type === 'Ready' && condition.status === 'True')
  const containers = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ]
  const words = [phase, ...(reason ? [`(${reason})`] : []), ...(isReady ? ['ready'] : [])]
  return [...words, ...containers.map(showContainer)].join(' ')
}

function showContainer({ name, state, ready, restartCount }: ContainerStatus): string {
  const { running, waiting, terminated } = state ?? {}
  const shown = running
    ? `running${ready ? '' : '!'}`
    : (waiting?.reason ?? `${terminated?.reason}:${terminated?.exitCode}`)
  return `${name}=${shown}${restartCount > 0 ? `*${restartCount}` : ''}`
}
