/**
 * Asks the containers of this node whether they have started, whether they are ready and whether they are alive, as
 * their probes say. It only remembers the answers and says when one has changed; what follows from them is decided
 * elsewhere. A probe that waits has one timer, and one that has nothing to ask has none.
 * https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
 */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Network, Platform } from '#/platform/platform.ts'
import type { ProbeResults } from './plan-pod.ts'
import { containersOf, fieldPathOf, isSidecar, type PodContainer } from './pod-containers.ts'
import { ContainerProbes } from './probes/container-probes.ts'

export interface ProbesOptions {
  readonly platform: Platform
  readonly runtime: Pick<ContainerRuntime, 'execSync'>
  readonly connectHttp: HttpConnect
  /** Loaded when the first pod asks for it. */
  readonly connectGrpc: () => Promise<GrpcConnect>
  /** How pods are reached, when that is not by the machine's network. */
  readonly network?: Pick<Network, 'connect'>
  readonly recorder: { record(about: Pod, content: EventContent): void }
  /** Something about this pod's results is different. */
  readonly onChange: (podUid: string) => void
}

export interface RunningContainer {
  readonly id: string
  readonly name: string
  /** Of wall time. */
  readonly startedMs: number
  /** The pod's first address; that of the node for a pod on its network. */
  readonly address: string
  /**
   * Whether its status said already, before this process knew of it, that it has started: then it is not asked again.
   */
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

  /** Probes these containers of the pod from now on, and no others. It may be called at any time, with all that run. */
  follow(pod: Pod, containers: readonly RunningContainer[]): void {
    const uid = pod.metadata?.uid ?? ''
    const before = this.#pods.get(uid) ?? new Map<string, ContainerProbes>()
    const now = new Map<string, ContainerProbes>()
    for (const running of containers) {
      const probes = before.get(running.id) ?? this.#begin(pod, running)
      if (probes === undefined) continue
      now.set(running.id, probes)
      this.#byContainer.set(running.id, probes)
      // A pod that goes is left alone, but whether it is ready still matters to those who send to it.
      if (isBeingDeleted(pod)) probes.stopAllButReadiness()
    }
    for (const [id, probes] of before) if (!now.has(id)) this.#end(id, probes)
    if (now.size > 0) this.#pods.set(uid, now)
    else this.#pods.delete(uid)
  }

  /** What is not there was not found out yet, or is not asked. */
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

  /** Undefined for one that has no probes. */
  #begin(pod: Pod, running: RunningContainer): ContainerProbes | undefined {
    const found = containersOf(pod).find(({ container }) => container.name === running.name)
    if (found === undefined || !isProbed(found)) return undefined
    const { platform, runtime, connectHttp, connectGrpc, network = platform.network } = this.#options
    const uid = pod.metadata?.uid ?? ''
    const probes = new ContainerProbes({
      means: { platform, runtime, connectHttp, connectGrpc, network },
      container: found.container,
      running,
      beganMs: this.#beganMs,
      onChange: () => this.#options.onChange(uid),
      onEvent: (reason, message) => {
        const content: EventContent = { type: 'Warning', reason, message, fieldPath: fieldPathOf(found) }
        this.#options.recorder.record(pod, content)
      },
    })
    probes.start()
    return probes
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
