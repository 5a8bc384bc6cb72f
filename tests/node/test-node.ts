/**
 * A node with a real kubelet on a real containerd, in a cluster that is otherwise only an API server in the
 * test process: the test creates the pods of the node. Everything is removed when the test ends.
 */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Event, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { Kubelet } from '#/kubelet/kubelet.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { connectHttp, loadGrpc, nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { TestContainerd } from './test-containerd.ts'

const nodeName = 'node-0'

/** Timeout of waits, generous for slow machines. */
const waitMsMax = 60_000
const lookMs = 25

export class TestNode {
  readonly containerd: TestContainerd
  readonly api: TestApiServer
  readonly client: Client
  readonly settings: KubeletConfiguration
  readonly platform: Platform
  kubelet: Kubelet
  #stopping = new AbortController()
  #running: Promise<void>

  private constructor(
    containerd: TestContainerd,
    api: TestApiServer,
    settings: Partial<KubeletConfiguration>,
  ) {
    this.containerd = containerd
    this.api = api
    this.client = api.client
    this.settings = kubeletConfiguration({
      name: nodeName,
      addresses: ['127.0.0.1'],
      rootDirectory: join(containerd.folder, 'node'),
      cgroupRoot: containerd.cgroupParent,
      ...settings,
    })
    const level = process.env['K8TS_TEST_LOG'] === 'info' ? 'info' : 'error'
    this.platform = nodePlatform({ log: { level, format: 'text' } })
    this.kubelet = this.#makeKubelet()
    this.#running = this.kubelet.run(this.#stopping.signal)
  }

  static async start(
    t: Pick<TestContext, 'after'>,
    settings: Partial<KubeletConfiguration> = {},
  ): Promise<TestNode> {
    const containerd = await TestContainerd.start()
    const api = await startTestApiServer(t)
    const node = new TestNode(containerd, api, settings)
    t.after(async () => {
      await node.stopKubelet()
      await containerd[Symbol.asyncDispose]()
    })
    return node
  }

  /** Containers keep running. */
  async stopKubelet(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  startKubelet(): void {
    this.#stopping = new AbortController()
    this.kubelet = this.#makeKubelet()
    this.#running = this.kubelet.run(this.#stopping.signal)
  }

  /** Creates a pod bound to this node. */
  async run(name: string, spec: PodSpec, metadata: NonNullable<Pod['metadata']> = {}): Promise<Pod> {
    return this.client.create(pods, {
      metadata: { namespace: 'default', name, ...metadata },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 5,
        automountServiceAccountToken: false,
        ...spec,
        containers: spec.containers.map(container => ({ imagePullPolicy: 'IfNotPresent', ...container })),
        ...(spec.initContainers && {
          initContainers: spec.initContainers.map(container => ({
            imagePullPolicy: 'IfNotPresent',
            ...container,
          })),
        }),
      },
    })
  }

  async get(name: string): Promise<Pod> {
    return this.client.get(pods, { namespace: 'default', name })
  }

  /** Waits until the pod satisfies a condition. Fails with its last state. */
  async until(name: string, fits: (pod: Pod) => boolean): Promise<Pod> {
    const giveUp = Date.now() + waitMsMax
    for (;;) {
      const pod = await this.get(name)
      if (fits(pod)) return pod
      if (Date.now() > giveUp) {
        const told = (await this.events(name)).join('\n')
        throw new Error(`pod ${name} never came so far: ${JSON.stringify(pod.status, null, 1)}\n${told}`)
      }
      await new Promise(resolve => setTimeout(resolve, lookMs))
    }
  }

  untilRunning(name: string): Promise<Pod> {
    return this.until(name, ({ status }) => {
      return (
        status?.conditions?.some(({ type, status: said }) => type === 'Ready' && said === 'True') ?? false
      )
    })
  }

  async delete(name: string): Promise<void> {
    await this.client.delete(pods, { namespace: 'default', name })
    await this.disappears(name)
  }

  async appears(name: string): Promise<void> {
    await this.#untilThere(name, true)
  }

  async disappears(name: string): Promise<void> {
    await this.#untilThere(name, false)
  }

  async #untilThere(name: string, isThere: boolean): Promise<void> {
    const giveUp = Date.now() + waitMsMax
    while (Date.now() < giveUp) {
      const found = await this.client.find(pods, { namespace: 'default', name })
      if ((found !== undefined) === isThere) return
      await new Promise(resolve => setTimeout(resolve, lookMs))
    }
    throw new Error(`pod ${name} is ${isThere ? 'never there' : 'never gone'}`)
  }

  /** `Reason: message`, oldest first. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.client.list(events, { namespace: 'default' })
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a: Event, b: Event) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .map(({ reason, message }) => `${reason}: ${message}`)
  }

  #makeKubelet(): Kubelet {
    return new Kubelet({
      platform: this.platform,
      linux: this.containerd.linux,
      runtime: this.containerd.runtime,
      client: this.api.clientAs(`system:node:${nodeName}`, ['system:nodes']),
      node: this.settings,
      version: 'v1.36.4+k8ts.0.0.0',
      connectHttp,
      connectGrpc: loadGrpc,
    })
  }
}
