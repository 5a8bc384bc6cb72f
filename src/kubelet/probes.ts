/**
 * Runs startup, readiness and liveness probes. It only stores results and reports changes; their consequences
 * are decided elsewhere. A waiting probe uses one timer, an inactive one none.
 * https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
 */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Network, Platform } from '#/platform/platform.ts'
import type { KubeletMetrics, ProbeType } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { ProbeResults } from './plan-pod.ts'
import { containersOf, fieldPathOf, isSidecar, type PodContainer } from './pod-containers.ts'
import type { PodSteps } from './pod-steps.ts'
import { ContainerProbes } from './probes/container-probes.ts'

export interface ProbesOptions {
  readonly platform: Platform
  readonly runtime: Pick<ContainerRuntime, 'execSync'>
  readonly connectHttp: HttpConnect
  /** Loaded on first use. */
  readonly connectGrpc: () => Promise<GrpcConnect>
  /** Network for probes of pods, if not the machine's. */
  readonly network?: Pick<Network, 'connect'>
  readonly metrics: KubeletMetrics['probes']
  readonly recorder: { record(about: Pod, content: EventContent): void }
  /** Called when a probe result of this pod changed. */
  readonly onChange: (podUid: string) => void
  /** The steps of a pod, by UID. */
  readonly stepsOf?: (uid: string) => PodSteps | undefined
}

export interface RunningContainer {
  readonly id: string
  readonly name: string
  /** Wall time. */
  readonly startedMs: number
  /** Primary pod IP; the node's address with `hostNetwork`. */
  readonly address: string
  /** True if a previous kubelet process reported the container as started: the startup probe is skipped. */
  readonly hasStarted?: boolean
}

export class Probes {
  readonly #options: ProbesOptions
  readonly #beganMs: number
  readonly #pods = new Map<string, Map<string, ContainerProbes>>()
  readonly #byContainer = new Map<string, ContainerProbes>()

  constructor(options: ProbesOptions) {
    this.#options = options
    this.#beganMs = options.platform.clock.now()
  }

  /** Probes exactly these containers of the pod from now on. Called with all running containers. */
  follow(pod: KubeletPod, containers: readonly RunningContainer[]): void {
    const uid = pod.metadata.uid
    const before = this.#pods.get(uid) ?? new Map<string, ContainerProbes>()
    const now = new Map<string, ContainerProbes>()
    for (const running of containers) {
      const probes = before.get(running.id) ?? this.#begin(pod, running)
      if (probes === undefined) continue
      now.set(running.id, probes)
      this.#byContainer.set(running.id, probes)
      // In a pod being deleted, only readiness probes continue, because endpoints still depend on them.
      if (isBeingDeleted(pod)) probes.stopAllButReadiness()
    }
    for (const [id, probes] of before) if (!now.has(id)) this.#end(id, probes)
    if (now.size > 0) this.#pods.set(uid, now)
    else this.#pods.delete(uid)
  }

  /** A result is absent if the probe has not completed yet or does not exist. */
  results(containerId: string): ProbeResults {
    return this.#byContainer.get(containerId)?.results ?? {}
  }

  forget(podUid: string): void {
    for (const [id, probes] of this.#pods.get(podUid) ?? []) this.#end(id, probes)
    this.#pods.delete(podUid)
  }

  [Symbol.dispose](): void {
    for (const uid of this.#pods.keys()) this.forget(uid)
  }

  /** Undefined if the container has no probes. */
  #begin(pod: KubeletPod, running: RunningContainer): ContainerProbes | undefined {
    const found = containersOf(pod).find(({ container }) => container.name === running.name)
    if (found === undefined || !isProbed(found)) return undefined
    const { platform, runtime, connectHttp, connectGrpc, network = platform.network } = this.#options
    const { uid, name, namespace } = pod.metadata
    const probed = { container: found.container.name, pod: name, namespace, podUid: uid }
    const probes = new ContainerProbes({
      dependencies: { platform, runtime, connectHttp, connectGrpc, network },
      container: found.container,
      series: type => this.#options.metrics.of(type, probed),
      running,
      beganMs: this.#beganMs,
      onChange: () => this.#options.onChange(uid),
      onSuccess: type => this.#addStep(uid, running, type),
      onEvent: (reason, message) => {
        const content: EventContent = { type: 'Warning', reason, message, fieldPath: fieldPathOf(found) }
        this.#options.recorder.record(pod, content)
      },
    })
    probes.start()
    return probes
  }

  /** From the start of the container to the first success. */
  #addStep(podUid: string, { name: detail, startedMs }: RunningContainer, type: ProbeType): void {
    const durationMs = Math.max(0, this.#options.platform.clock.now() - startedMs)
    const name = `${type.toLowerCase()}-probe`
    // Otherwise an earlier kubelet has started the container.
    if (startedMs >= this.#beganMs)
      this.#options.stepsOf?.(podUid)?.add({ name, detail, startedMs, durationMs })
  }

  #end(containerId: string, probes: ContainerProbes): void {
    probes.stop()
    this.#byContainer.delete(containerId)
  }
}

function isProbed({ kind, container }: PodContainer): boolean {
  return hasProbe(container) && (kind === 'regular' || (kind === 'init' && isSidecar(container)))
}

function hasProbe({ startupProbe, livenessProbe, readinessProbe }: Container): boolean {
  return startupProbe !== undefined || livenessProbe !== undefined || readinessProbe !== undefined
}
