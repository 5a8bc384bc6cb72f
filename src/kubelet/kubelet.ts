/**
 * The node agent: registers the node, runs the pods from the API server and from static manifests, and
 * reports their status. It assembles the parts and dispatches changes; `pod-worker.ts` syncs a pod. It can
 * stop at any time: containers keep running, and the next kubelet finds them.
 */
import { keyOf } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informers } from '#/client/informers.ts'
import type { ContainerRuntime, RuntimeHandler, RuntimeVersion } from '#/cri/cri.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Network, Platform } from '#/platform/platform.ts'
import { KubeletMetrics, type NodePods } from './kubelet-metrics.ts'
import { kubeletComponents, type KubeletComponents } from './kubelet-components.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts'
import type { KubeletView } from './kubelet-view.ts'
import type { VolumeUsage } from './volumes.ts'
import { nodeAllocatableLimits, readMachineInfo } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { measuredRuntime } from './measured-runtime.ts'
import { latestOf } from './observed-pod.ts'

export interface KubeletOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly runtime: ContainerRuntime
  /** Authenticated as `system:node:NAME`. */
  readonly client: Client
  readonly node: KubeletConfiguration
  /** Such as `v1.36.4+k8ts.0.1.0`. */
  readonly version: string
  readonly connectHttp: HttpConnect
  /** Loaded on first use. */
  readonly connectGrpc: () => Promise<GrpcConnect>
  /** Network for probes of pods, if not the machine's. */
  readonly network?: Pick<Network, 'connect'>
  /** Fully qualified names of images that are never removed, such as the pause image. */
  readonly pinnedImages?: readonly string[]
  /** Of this kubelet and its client; new ones when absent. */
  readonly metrics?: KubeletMetrics
  /** Called with the pod CIDRs of the node when it has got them. */
  readonly onPodCidrs?: (podCidrs: readonly string[]) => void
  /** Called with the addresses of a pod before each start of a container, which waits for it. */
  readonly protectPod?: PodWorkerDependencies['protectPod']
}

/** Retry period until the runtime answers. */
const retryMs = 200
/** Image garbage collection period, as upstream. */
const imageCheckMs = 300_000

export class Kubelet implements KubeletView {
  readonly metrics: KubeletMetrics
  readonly #options: KubeletOptions
  readonly #watchers = new Map<string, Set<() => void>>()
  #components: KubeletComponents | undefined
  #problem: string | undefined = 'the kubelet is starting'

  constructor(options: KubeletOptions) {
    const { runtime, platform, node, linux, metrics = new KubeletMetrics() } = options
    this.metrics = metrics
    this.#options = { ...options, runtime: measuredRuntime(runtime, this.metrics, platform.clock) }
    this.metrics.node.name.with(node.name).value = 1
    this.metrics.node.cgroupVersion.value = linux.machine.cgroupVersion
    this.metrics.node.metricsProvider.with('cadvisor').value = 1
    this.metrics.countPods(() => nodePods(this.#components))
  }

  /** Runs until aborted. Containers keep running afterwards. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, linux, node } = this.#options
    await platform.files.makeFolder(node.rootDirectory, { mode: 0o750 })
    await platform.files.makeFolder(node.podLogsDir, { mode: 0o755 })
    const machine = await readMachineInfo({ platform, linux, node })
    const runtimeInfo: RuntimeInfo = { runtime: undefined, handlers: [] }
    const components = kubeletComponents(this.#options, {
      metrics: this.metrics,
      machine: () => machine,
      runtimeName: () => runtimeInfo.runtime?.name ?? '',
      handlers: () => runtimeInfo.handlers,
      onChange: uid => this.#notify(uid),
    })
    this.#components = components
    const { cgroups, registration, eviction, informers, recorder, statuses, objects, sources } = components
    registration.nodes.addEventHandler((_name, { newObject }) => {
      const { podCIDRs = [] } = newObject?.spec ?? {}
      if (podCIDRs.length > 0) this.#options.onPodCidrs?.(podCIDRs)
    })
    await cgroups.start(nodeAllocatableLimits(machine, node))
    const running = [
      registration.run(signal),
      eviction.run(signal),
      informers.run(signal),
      recorder.run(signal),
      statuses.run(signal),
      objects.run(signal),
      sources.run(signal),
      this.#runPods(components, runtimeInfo, signal),
    ]
    await Promise.all(running)
    components.classes.stop()
    components.probes[Symbol.dispose]()
  }

  /** Informers for the pods of the node and for services; undefined before `run`. */
  get informers(): Informers | undefined {
    return this.#components?.informers
  }

  pods(): readonly KubeletPod[] {
    return this.#components?.workers.all().map(({ pod }) => pod) ?? []
  }

  pod(namespace: string, name: string): KubeletPod | undefined {
    const found = this.pods().filter(pod => keyOf(pod) === `${namespace}/${name}`)
    // During a replacement, two pods can have the same name; the newer one is returned.
    return found.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? found[0]
  }

  containerId(uid: string, container: string): string | undefined {
    const worker = this.#components?.workers.get(uid)
    const latest = worker && latestOf(worker.observed, container)
    return latest?.state === 'running' ? latest.id : undefined
  }

  sandboxId(uid: string): string | undefined {
    return this.#components?.workers.get(uid)?.observed.sandboxes.find(({ isReady }) => isReady)?.id
  }

  async isSandboxResponding(uid: string): Promise<boolean> {
    return this.#components?.unresponsive.check(uid) ?? true
  }

  onPodChange(uid: string, callback: () => void): () => void {
    const watchers = this.#watchers.get(uid) ?? new Set()
    this.#watchers.set(uid, watchers.add(callback))
    return () => {
      watchers.delete(callback)
      if (watchers.size === 0) this.#watchers.delete(uid)
    }
  }

  async claimUsage(): Promise<readonly VolumeUsage[]> {
    const { workers, volumes } = this.#components ?? {}
    const usages: VolumeUsage[] = []
    for (const { pod } of workers?.all() ?? []) usages.push(...((await volumes?.claimUsage(pod)) ?? []))
    return usages
  }

  problem(): string | undefined {
    return this.#problem
  }

  /** Starts pod workers once the runtime answers, so that static pods do not wait for the API server. */
  async #runPods(
    components: KubeletComponents,
    runtimeInfo: RuntimeInfo,
    signal: AbortSignal,
  ): Promise<void> {
    const { workers, mirrors, objects } = components
    try {
      await this.#waitForRuntime(runtimeInfo, signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    this.#problem = undefined
    objects.onChange(uids => {
      for (const uid of uids) workers.get(uid)?.refresh()
    })
    workers.begin(signal)
    await Promise.all([
      this.#followRuntime(components, signal),
      this.#removeOrphans(components, signal),
      mirrors.run(signal),
      components.logs.run(signal),
      this.#collectImageGarbage(components, signal),
    ])
  }

  async #waitForRuntime(runtimeInfo: RuntimeInfo, signal: AbortSignal): Promise<void> {
    const { runtime, platform } = this.#options
    for (;;) {
      try {
        runtimeInfo.runtime = await runtime.version(signal)
        runtimeInfo.handlers = (await runtime.status(signal)).handlers
        return
      } catch (error) {
        signal.throwIfAborted()
        this.#problem = `container runtime is not available: ${String(error)}`
        await platform.clock.sleep(retryMs, signal)
      }
    }
  }

  /** Orphans can be identified only after all pod sources have synced. */
  async #removeOrphans({ sources, orphans }: KubeletComponents, signal: AbortSignal): Promise<void> {
    await sources.waitForSync(signal).catch(() => undefined)
    if (!signal.aborted) await orphans.run(signal)
  }

  async #followRuntime({ workers, orphans }: KubeletComponents, signal: AbortSignal): Promise<void> {
    try {
      const { clock } = this.#options.platform
      for await (const uid of this.#options.runtime.containerEvents(signal)) {
        this.metrics.node.relistLastSeen.with().value = clock.now() / 1_000
        workers.syncSoon(uid)
        if (uid === undefined || workers.get(uid) === undefined) orphans.requestSweep()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #collectImageGarbage({ images }: KubeletComponents, signal: AbortSignal): Promise<void> {
    const { platform, linux, runtime } = this.#options
    while (!signal.aborted) {
      await platform.clock.sleep(imageCheckMs, signal).catch(() => undefined)
      if (signal.aborted) return
      try {
        const { folder } = await runtime.imageFsInfo({ signal })
        const { totalBytes, availableBytes } = await linux.files.space(folder)
        await images.collect({ capacityBytes: totalBytes, availableBytes }, signal)
      } catch (error) {
        if (!signal.aborted) platform.log.warn('Image garbage collection failed', { error })
      }
    }
  }

  #notify(uid: string): void {
    for (const callback of this.#watchers.get(uid) ?? []) callback()
  }
}

/** State reported by the runtime. */
interface RuntimeInfo {
  runtime: RuntimeVersion | undefined
  handlers: readonly RuntimeHandler[]
}

/** Before the kubelet runs there are none. */
function nodePods(components: KubeletComponents | undefined): NodePods {
  if (components === undefined) return noPods
  const { sources, workers, volumes } = components
  const sourced = sources.all()
  const known = new Set(sourced.map(({ pod }) => pod.metadata.uid))
  const ofManifests = sourced.filter(({ isStatic }) => isStatic)
  const all = workers.all()
  return {
    pods: all.map(({ uid, pod, isStatic, isActive, lifecycle, observed }) => {
      const ephemeralContainers = pod.spec?.ephemeralContainers?.length ?? 0
      return { isStatic, isActive, isDesired: known.has(uid), lifecycle, ephemeralContainers, observed }
    }),
    desired: { static: ofManifests.length, regular: sourced.length - ofManifests.length },
    mirrorPods: ofManifests.filter(({ mirror }) => mirror !== undefined).length,
    ...volumes.count(all.filter(({ isReleased }) => !isReleased).map(({ pod }) => pod)),
  }
}

const noPods: NodePods = {
  pods: [],
  desired: { static: 0, regular: 0 },
  mirrorPods: 0,
  mountedVolumes: new Map(),
  wantedVolumes: new Map(),
}
