/**
 * A container runtime without containers: behavior is data, time is the platform's, and thousands of pods fit
 * into one process. The behavior of a container comes from a script for its name or image, from pod
 * annotations, or from its command. It writes logs in CRI format and does not touch the node otherwise. Idle
 * containers need no timers. All state is lost when the process ends.
 */
import type { Duplex } from 'node:stream'
import type { Platform } from '#/platform/platform.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import {
  CriError,
  runtimeRequestTimeoutMs,
  type CallOptions,
  type ContainerRuntime,
  type ContainerStats,
  type ContainerStatus,
  type ContainerSummary,
  type CreateContainer,
  type ExecRequest,
  type ExecResult,
  type ExecSyncRequest,
  type FilesystemUsage,
  type Image,
  type LinuxResources,
  type RegistryAuth,
  type RuntimeStatus,
  type RuntimeVersion,
  type SandboxConfig,
  type SandboxStatus,
  type SandboxSummary,
} from './cri.ts'
import { AddressPool } from './simulated/address-pool.ts'
import { CallDeadline } from './simulated/call-deadline.ts'
import { ContainerEventBroadcast } from './simulated/container-event-broadcast.ts'
import { FaultInjection, type RuntimeMethod } from './simulated/fault-injection.ts'
import { ImageStore } from './simulated/image-store.ts'
import { killedCode } from './simulated/plan-container-run.ts'
import { PodNetwork } from './simulated/pod-network.ts'
import type { ContainerScript, ImageScript } from './simulated/script.ts'
import { SimulatedContainer } from './simulated/simulated-container.ts'
import { SimulatedSandbox } from './simulated/simulated-sandbox.ts'

export type { PodNetwork } from './simulated/pod-network.ts'
export type { ContainerScript, ImageScript } from './simulated/script.ts'

export interface SimulatedRuntimeOptions {
  readonly platform: Platform
  /** Ranges of pod IPs; each pod gets one address per range. */
  readonly podCidrs: readonly string[]
  /** By container name. A list is indexed by attempt; its last entry also applies to later attempts. */
  readonly containers?: Readonly<Record<string, ContainerScripts>>
  /** By image name; images not listed can be pulled. */
  readonly images?: Readonly<Record<string, ImageScript>>
  /** Default behavior. */
  readonly defaultScript?: ContainerScript
  /** Called after each change of a pod, also while events are lost. */
  readonly onChange?: (podUid: string) => void
}

/** A sandbox with all its containers. */
export interface InspectedSandbox extends SandboxStatus {
  readonly containers: readonly ContainerStatus[]
}

export type ContainerScripts = ContainerScript | readonly ContainerScript[]

export class SimulatedRuntime implements ContainerRuntime {
  /** Fault injection. */
  readonly faults: FaultInjection
  /** Connects to pods by IP, for probes. */
  readonly podNetwork: PodNetwork
  readonly #options: SimulatedRuntimeOptions
  readonly #scripts: Map<string, ContainerScripts>
  readonly #images: ImageStore
  readonly #pools: readonly AddressPool[]
  readonly #changes = new ContainerEventBroadcast()
  readonly #sandboxes = new Map<string, SimulatedSandbox>()
  readonly #containers = new Map<string, SimulatedContainer>()
  readonly #byAddress = new Map<string, SimulatedSandbox>()
  /** Index: sandboxes by pod UID. */
  readonly #byPod = new Map<string, Set<SimulatedSandbox>>()

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options
    this.#scripts = new Map(Object.entries(options.containers ?? {}))
    this.#images = new ImageStore(options.images ?? {})
    this.#pools = options.podCidrs.map(cidr => new AddressPool(cidr))
    this.podNetwork = new PodNetwork(options.platform.clock, address => this.#byAddress.get(address))
    this.faults = new FaultInjection(() => this.#publish(undefined))
  }

  /**
   * Sets the script for containers of this name. Running containers use it for everything but their planned
   * exit.
   */
  setScript(name: string, script: ContainerScripts): void {
    this.#scripts.set(name, script)
  }

  setImage(name: string, script: ImageScript): void {
    this.#images.setScript(name, script)
  }

  /** Ends a container as if its process had exited. */
  endContainer(id: string, exitCode: number, isOutOfMemory = false): void {
    this.#container(id).end(exitCode, isOutOfMemory)
  }

  /** Kills a sandbox and its containers from outside, without a stop call. */
  killSandbox(id: string): void {
    this.#sandbox(id).end()
  }

  /** The state regardless of injected faults. */
  inspect(filter: PodFilter = {}): readonly InspectedSandbox[] {
    return this.#sandboxesOf(filter).map(sandbox => {
      return { ...sandbox.status(), containers: [...sandbox.containers.values()].map(one => one.status()) }
    })
  }

  version(signal?: AbortSignal): Promise<RuntimeVersion> {
    return this.#call('version', { signal }, () => ({ name: 'simulated', version: '1.0.0' }))
  }

  status(signal?: AbortSignal): Promise<RuntimeStatus> {
    const ready = { isReady: true, reason: '', message: '' }
    const handler = { name: '', supportsUserNamespaces: true, supportsRecursiveReadOnlyMounts: true }
    return this.#call('status', { signal }, () => ({ runtime: ready, network: ready, handlers: [handler] }))
  }

  runPodSandbox(config: SandboxConfig, options?: CallOptions): Promise<string> {
    return this.#call('runPodSandbox', options, () => {
      const { uid, attempt } = config.metadata
      const ofPod = this.#byPod.get(uid) ?? new Set()
      for (const other of ofPod) {
        if (other.config.metadata.attempt !== attempt) continue
        throw new CriError('failed', `failed to reserve sandbox name: it is reserved for "${other.id}"`)
      }
      const sandbox = new SimulatedSandbox({
        platform: this.#options.platform,
        id: this.#newId('id of a sandbox'),
        config,
        pools: this.#pools,
        onChange: () => this.#publish(uid),
      })
      this.#byPod.set(uid, ofPod.add(sandbox))
      this.#sandboxes.set(sandbox.id, sandbox)
      for (const address of sandbox.addresses) this.#byAddress.set(address, sandbox)
      this.#publish(uid)
      return sandbox.id
    })
  }

  stopPodSandbox(id: string, options?: CallOptions): Promise<void> {
    return this.#call('stopPodSandbox', options, async time => {
      const sandbox = this.#sandboxes.get(id)
      if (sandbox?.isReady) await this.faults.reachShim(id, time)
      sandbox?.end()
    })
  }

  removePodSandbox(id: string, options?: CallOptions): Promise<void> {
    return this.#call('removePodSandbox', options, async time => {
      const sandbox = this.#sandboxes.get(id)
      if (sandbox === undefined) return
      if (sandbox.isReady) await this.faults.reachShim(id, time)
      const { uid } = sandbox.config.metadata
      const { addresses } = sandbox
      sandbox.end()
      for (const address of addresses)
        if (this.#byAddress.get(address) === sandbox) this.#byAddress.delete(address)
      for (const containerId of sandbox.containers.keys()) this.#containers.delete(containerId)
      this.#sandboxes.delete(id)
      const ofPod = this.#byPod.get(uid)
      ofPod?.delete(sandbox)
      if (ofPod?.size === 0) this.#byPod.delete(uid)
      this.#publish(uid)
    })
  }

  podSandboxStatus(id: string, options?: CallOptions): Promise<SandboxStatus> {
    return this.#call('podSandboxStatus', options, () => this.#sandbox(id).status())
  }

  listPodSandbox(filter: PodFilter = {}, options?: CallOptions): Promise<readonly SandboxSummary[]> {
    return this.#call('listPodSandbox', options, () => this.#sandboxesOf(filter).map(one => one.summary()))
  }

  async killShim(sandboxId: string): Promise<void> {
    this.#sandboxes.get(sandboxId)?.end()
    this.faults.killShim(sandboxId)
  }

  createContainer({ sandboxId, sandbox, config }: CreateContainer, options?: CallOptions): Promise<string> {
    return this.#call('createContainer', options, async time => {
      const parent = this.#sandbox(sandboxId)
      const script = (): ContainerScript => this.#scriptFor(config.name, config.attempt, config.userImage)
      await time.sleep(script().createMs ?? 0)
      parent.checkCanCreate(config)
      const { createError } = script()
      if (createError !== undefined) throw new CriError('failed', createError)
      const image = this.#images.find(config.image)
      if (image === undefined)
        throw new CriError('not-found', `failed to get image "${config.image}": not found`)
      const { platform } = this.#options
      const id = this.#newId('id of a container')
      const onChange = (): void => this.#publish(sandbox.metadata.uid)
      const made = { platform, id, sandboxId, sandbox, config, image, script, onChange }
      const container = new SimulatedContainer(made)
      parent.containers.set(id, container)
      this.#containers.set(id, container)
      onChange()
      return id
    })
  }

  startContainer(id: string, options?: CallOptions): Promise<void> {
    return this.#call('startContainer', options, async time => {
      const container = await this.#reachContainer(id, time)
      await time.sleep(container.options.script().startMs ?? 0)
      const { isReady } = this.#sandbox(container.options.sandboxId)
      if (!isReady) throw new CriError('failed', 'sandbox container is not running')
      container.start()
    })
  }

  stopContainer(id: string, graceSeconds: number, options?: CallOptions): Promise<void> {
    const graceMs = graceSeconds * 1_000
    const patient = { timeoutMs: graceMs + runtimeRequestTimeoutMs, ...options }
    return this.#call('stopContainer', patient, async time => {
      if (!this.#containers.get(id)?.isRunning) return
      await (await this.#reachContainer(id, time)).stop(graceMs, time)
    })
  }

  removeContainer(id: string, options?: CallOptions): Promise<void> {
    return this.#call('removeContainer', options, () => {
      const container = this.#containers.get(id)
      if (container === undefined) return
      container.end(killedCode)
      this.#containers.delete(id)
      this.#sandboxes.get(container.options.sandboxId)?.containers.delete(id)
      container.options.onChange()
    })
  }

  containerStatus(id: string, options?: CallOptions): Promise<ContainerStatus> {
    return this.#call('containerStatus', options, () => this.#container(id).status())
  }

  listContainers(filter: PodFilter = {}, options?: CallOptions): Promise<readonly ContainerSummary[]> {
    return this.#call('listContainers', options, () => this.#containersOf(filter).map(one => one.summary()))
  }

  updateContainerResources(id: string, resources: LinuxResources, options?: CallOptions): Promise<void> {
    return this.#call('updateContainerResources', options, () =>
      this.#container(id).updateContainerResources(resources),
    )
  }

  reopenContainerLog(id: string, options?: CallOptions): Promise<void> {
    return this.#call('reopenContainerLog', options, () => this.#container(id).reopenContainerLog())
  }

  execSync({ containerId, command, timeoutMs }: ExecSyncRequest, options?: CallOptions): Promise<ExecResult> {
    const bounded = { timeoutMs: timeoutMs > 0 ? timeoutMs + runtimeRequestTimeoutMs : Infinity, ...options }
    return this.#call('execSync', bounded, async time => {
      return (await this.#reachContainer(containerId, time)).execSync(command, timeoutMs, time)
    })
  }

  exec({ containerId, command, ...streams }: ExecRequest, options?: CallOptions): Promise<CommandProcess> {
    return this.#call('exec', options, async time => {
      return (await this.#reachContainer(containerId, time)).exec(command, streams)
    })
  }

  attach(id: string, streams: CommandOptions, options?: CallOptions): Promise<CommandProcess> {
    return this.#call('attach', options, async time => {
      return (await this.#reachContainer(id, time)).attach(streams)
    })
  }

  portForward(sandboxId: string, port: number, options?: CallOptions): Promise<Duplex> {
    return this.#call('portForward', options, () => this.#sandbox(sandboxId).connect(port))
  }

  listContainerStats(filter: PodFilter = {}, options?: CallOptions): Promise<readonly ContainerStats[]> {
    return this.#call('listContainerStats', options, async time => {
      const running = this.#containersOf(filter).filter(one => one.isRunning)
      for (const {
        options: { id },
      } of running)
        await this.#reachContainer(id, time)
      return running.map(one => one.stats())
    })
  }

  listImages(options?: CallOptions): Promise<readonly Image[]> {
    return this.#call('listImages', options, () => this.#images.list())
  }

  imageStatus(reference: string, options?: CallOptions): Promise<Image | undefined> {
    return this.#call('imageStatus', options, () => this.#images.find(reference))
  }

  pullImage(reference: string, auth: RegistryAuth | undefined, options?: CallOptions): Promise<string> {
    return this.#call('pullImage', options, async time => {
      await time.sleep(this.#images.script(reference).pullMs ?? 0)
      return this.#images.pull(reference, auth)
    })
  }

  removeImage(reference: string, options?: CallOptions): Promise<void> {
    return this.#call('removeImage', options, () => this.#images.remove(reference))
  }

  imageFsInfo(options?: CallOptions): Promise<FilesystemUsage> {
    return this.#call('imageFsInfo', options, () => {
      const images = this.#images.list()
      const usedBytes = images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
      return { folder: '/', usedBytes, usedInodes: images.length }
    })
  }

  containerEvents(signal: AbortSignal): AsyncIterable<string | undefined> {
    return this.#changes.follow(signal)
  }

  /** Ends all sandboxes. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const sandbox of this.#sandboxes.values()) sandbox.end()
  }

  async #call<T>(
    method: RuntimeMethod,
    options: CallOptions | undefined,
    work: (time: CallDeadline) => T | Promise<T>,
  ): Promise<T> {
    const timeoutMs = unlimitedMethods.has(method) ? Infinity : runtimeRequestTimeoutMs
    const time = new CallDeadline(this.#options.platform.clock, { timeoutMs, ...options })
    return this.faults.perform(method, time, () => work(time))
  }

  #publish(podUid: string | undefined): void {
    if (this.faults.hasEvents) this.#changes.publish(podUid)
    if (podUid !== undefined) this.#options.onChange?.(podUid)
  }

  #scriptFor(name: string, attempt: number, image: string): ContainerScript {
    const { defaultScript } = this.#options
    const byName = this.#scripts.get(name)
    const one = isList(byName) ? byName[Math.min(attempt, byName.length - 1)] : byName
    return { ...defaultScript, ...this.#images.script(image).container, ...one }
  }

  #sandboxesOf({ podUid }: PodFilter): readonly SimulatedSandbox[] {
    return podUid === undefined ? [...this.#sandboxes.values()] : [...(this.#byPod.get(podUid) ?? [])]
  }

  #containersOf(filter: PodFilter): readonly SimulatedContainer[] {
    if (filter.podUid === undefined) return [...this.#containers.values()]
    return this.#sandboxesOf(filter).flatMap(({ containers }) => [...containers.values()])
  }

  #sandbox(id: string): SimulatedSandbox {
    const sandbox = this.#sandboxes.get(id)
    if (sandbox === undefined)
      throw new CriError('not-found', `an error occurred when try to find sandbox "${id}": not found`)
    return sandbox
  }

  #container(id: string): SimulatedContainer {
    const container = this.#containers.get(id)
    if (container === undefined) {
      throw new CriError('not-found', `an error occurred when try to find container "${id}": not found`)
    }
    return container
  }

  /** The container, once its shim answers. */
  async #reachContainer(id: string, time: CallDeadline): Promise<SimulatedContainer> {
    const container = this.#container(id)
    await this.faults.reachShim(container.options.sandboxId, time)
    return container
  }

  #newId(label: string): string {
    return Buffer.from(this.#options.platform.random.bytes(label, 32)).toString('hex')
  }
}

/** Methods without a default deadline. */
const unlimitedMethods: ReadonlySet<RuntimeMethod> = new Set([
  'pullImage',
  'execSync',
  'exec',
  'attach',
  'portForward',
])

interface PodFilter {
  readonly podUid?: string
}

function isList(scripts: ContainerScripts | undefined): scripts is readonly ContainerScript[] {
  return Array.isArray(scripts)
}
