/**
 * A node with pods that a test starts and restarts directly, on any container runtime: the kubelet's server
 * sees the runtime's state.
 */
import assert from 'node:assert/strict'
import type { Container, ContainerStatus } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { ContainerRuntime, SandboxConfig } from '#/cri/cri.ts'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import { isNamespaced, type KubeletPod } from '#/kubelet/kubelet-pod.ts'
import type { KubeletView } from '#/kubelet/kubelet-view.ts'

export interface RuntimeNodeOptions {
  readonly runtime: ContainerRuntime
  readonly client: Client
  readonly name: string
  readonly podLogsDir: string
  readonly cgroupParent: string
  readonly image: string
}

interface RunningPod {
  pod: KubeletPod
  readonly sandbox: SandboxConfig
  readonly sandboxId: string
  /** Ids by name, of all attempts, the newest last. */
  readonly containers: Map<string, string[]>
}

export class RuntimeNode implements KubeletView, AsyncDisposable {
  /** The answer to checks of sandboxes. */
  isResponding = true
  readonly #options: RuntimeNodeOptions
  readonly #pods = new Map<string, RunningPod>()
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #stopping = new AbortController()
  readonly #following: Promise<void>

  constructor(options: RuntimeNodeOptions) {
    this.#options = options
    this.#following = this.#follow()
  }

  pods(): readonly KubeletPod[] {
    return [...this.#pods.values()].map(({ pod }) => pod)
  }

  pod(namespace: string, name: string): KubeletPod | undefined {
    return this.pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  }

  containerId(uid: string, container: string): string | undefined {
    const { status } = this.#pods.get(uid)?.pod ?? {}
    const found = status?.containerStatuses?.find(({ name }) => name === container)
    return found?.state?.running ? found.containerID?.replace(/^.*:\/\//, '') : undefined
  }

  sandboxId(uid: string): string | undefined {
    return this.#pods.get(uid)?.sandboxId
  }

  async isSandboxResponding(): Promise<boolean> {
    return this.isResponding
  }

  onPodChange(uid: string, callback: () => void): () => void {
    const listeners = this.#listeners.get(uid) ?? new Set()
    this.#listeners.set(uid, listeners.add(callback))
    return () => listeners.delete(callback)
  }

  async claimUsage(): Promise<readonly []> {
    return []
  }

  problem(): string | undefined {
    return undefined
  }

  /** Number of change listeners; 0 when nothing is followed. */
  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Starts a pod with running containers, also in the API. */
  async run(
    name: string,
    containers: readonly Container[],
    ports: readonly number[] = [],
  ): Promise<KubeletPod> {
    const { client, name: nodeName, image, runtime } = this.#options
    const created = await client.create(pods, {
      metadata: { namespace: 'default', name },
      spec: {
        nodeName,
        containers: containers.map((container, index) => ({
          image,
          ...container,
          ...(index === 0 && ports.length > 0 && { ports: ports.map(containerPort => ({ containerPort })) }),
        })),
      },
    })
    assert.ok(isNamespaced(created))
    const sandbox = this.#sandboxConfig(created)
    const sandboxId = await runtime.runPodSandbox(sandbox)
    const running: RunningPod = { pod: created, sandbox, sandboxId, containers: new Map() }
    this.#pods.set(sandbox.metadata.uid, running)
    for (const container of containers) await this.#start(running, container)
    const { addresses } = await runtime.podSandboxStatus(sandboxId)
    const podIPs = addresses.map(ip => ({ ip }))
    await this.#refresh(sandbox.metadata.uid)
    const status = {
      ...running.pod.status,
      phase: 'Running',
      podIPs,
      ...(podIPs[0] && { podIP: podIPs[0].ip }),
    }
    const updated = await client.updateStatus(pods, { ...created, status })
    assert.ok(isNamespaced(updated))
    running.pod = updated
    return running.pod
  }

  /** Starts the container again after it has exited. */
  async restart(name: string, container: string): Promise<void> {
    const running = [...this.#pods.values()].find(({ pod }) => pod.metadata.name === name)
    const spec = running?.pod.spec?.containers.find(each => each.name === container)
    assert.ok(running && spec)
    await this.#start(running, spec)
    await this.#refresh(running.sandbox.metadata.uid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#following
    for (const { sandboxId } of this.#pods.values()) {
      await this.#options.runtime.stopPodSandbox(sandboxId)
      await this.#options.runtime.removePodSandbox(sandboxId)
    }
  }

  async #start({ sandbox, sandboxId, containers }: RunningPod, container: Container): Promise<void> {
    const { runtime, image: reference } = this.#options
    const image = await runtime.imageStatus(reference)
    assert.ok(image, `${reference} is there`)
    const attempts = containers.get(container.name) ?? []
    const { name, command = [], tty = false, stdin = false } = container
    const config = containerConfig(name, {
      attempt: attempts.length,
      image: image.id,
      userImage: reference,
      command,
      labels: { ...sandbox.labels, 'io.kubernetes.container.name': name },
      stdin,
      tty,
    })
    const id = await runtime.createContainer({ sandboxId, sandbox, config })
    containers.set(container.name, [...attempts, id])
    await runtime.startContainer(id)
  }

  async #follow(): Promise<void> {
    for await (const uid of this.#options.runtime.containerEvents(this.#stopping.signal)) {
      for (const each of uid === undefined ? this.#pods.keys() : [uid]) await this.#refresh(each)
    }
  }

  async #refresh(uid: string): Promise<void> {
    const running = this.#pods.get(uid)
    if (running === undefined) return
    const containerStatuses: ContainerStatus[] = []
    for (const [name, ids] of running.containers) containerStatuses.push(await this.#statusOf(name, ids))
    running.pod = { ...running.pod, status: { ...running.pod.status, containerStatuses } }
    for (const callback of this.#listeners.get(uid) ?? []) callback()
  }

  async #statusOf(name: string, ids: readonly string[]): Promise<ContainerStatus> {
    const [last, current] = [ids.at(-2), ids.at(-1)!]
    const lastState = last === undefined ? undefined : await this.#stateOf(last)
    return {
      name,
      image: this.#options.image,
      imageID: '',
      ready: true,
      restartCount: ids.length - 1,
      containerID: `test://${current}`,
      state: await this.#stateOf(current),
      ...(lastState && { lastState }),
    }
  }

  async #stateOf(id: string): Promise<NonNullable<ContainerStatus['state']>> {
    const { state, startedAt, exitCode } = await this.#options.runtime.containerStatus(id)
    const time = new Date(Number(startedAt / 1_000_000n)).toISOString()
    if (state === 'running') return { running: { startedAt: time } }
    if (state === 'exited') return { terminated: { exitCode, containerID: `test://${id}` } }
    return { waiting: { reason: 'ContainerCreating' } }
  }

  #sandboxConfig({ metadata }: KubeletPod): SandboxConfig {
    const { podLogsDir, cgroupParent } = this.#options
    const { name, namespace, uid } = metadata
    return sandboxConfig(uid, {
      metadata: { name, namespace, uid, attempt: 0 },
      hostname: name,
      logFolder: `${podLogsDir}/${namespace}_${name}_${uid}`,
      cgroupParent,
    })
  }
}
