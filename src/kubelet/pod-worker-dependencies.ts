/** Dependencies shared by all pod workers; the kubelet creates them once. */
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { ContainerRuntime, RuntimeHandler } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PodCgroups } from './cgroups.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { Images } from './images.ts'
import type { LifecycleHooks } from './lifecycle-hooks.ts'
import type { MachineInfo } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import type { PodObjects } from './pod-objects.ts'
import type { PodStartupLatency } from './pod-startup-latency.ts'
import type { Probes } from './probes.ts'
import type { Semaphore } from './semaphore.ts'
import type { StatusWriter } from './status-writer.ts'
import type { UnresponsiveSandboxes } from './unresponsive-sandboxes.ts'
import type { PodVolumes } from './volumes.ts'

export interface PodWorkerDependencies {
  readonly platform: Platform
  readonly linux: Linux
  readonly metrics: KubeletMetrics
  readonly startup: PodStartupLatency
  readonly runtime: ContainerRuntime
  /** Such as `containerd`. */
  readonly runtimeName: () => string
  readonly node: KubeletConfiguration
  readonly machine: () => MachineInfo
  readonly recorder: { record(about: Pod, content: EventContent): void }
  readonly cgroups: Pick<PodCgroups, 'ensure' | 'killProcesses' | 'remove'>
  readonly volumes: Pick<
    PodVolumes,
    'mount' | 'refresh' | 'nextRefreshMs' | 'subPath' | 'readFile' | 'unmount'
  >
  readonly images: Pick<Images, 'ensure'>
  readonly objects: Pick<PodObjects, 'configMap' | 'secret' | 'registerPod' | 'unregisterPod'>
  readonly services: Pick<Informer<Service>, 'list' | 'waitForSync'>
  readonly probes: Pick<Probes, 'follow' | 'results' | 'forget'>
  readonly hooks: LifecycleHooks
  readonly unresponsive: Pick<UnresponsiveSandboxes, 'kill'>
  /** Limits concurrent sandbox creations. */
  readonly sandboxSemaphore: Semaphore
  readonly statuses: Pick<StatusWriter, 'set' | 'finish' | 'forget'>
  /** Resolves when the network policies of a pod are in force; does nothing when absent. */
  readonly protectPod?:
    | ((pod: Pod, addresses: readonly string[], signal: AbortSignal) => Promise<void>)
    | undefined
  /** Handler of the pod's RuntimeClass; undefined for the default. Throws if the class does not exist. */
  readonly handlerOf: (pod: Pod) => Promise<RuntimeHandler | undefined>
}
