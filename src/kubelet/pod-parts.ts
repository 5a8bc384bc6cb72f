/** Dependencies shared by all pod workers; the kubelet creates them once. */
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { ContainerRuntime, RuntimeHandler } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PodCgroups } from './cgroups.ts'
import type { Images } from './images.ts'
import type { LifecycleHooks } from './lifecycle-hooks.ts'
import type { NodeMachine } from './node-machine.ts'
import type { NodeSettings } from './node-settings.ts'
import type { PodObjects } from './pod-objects.ts'
import type { Probes } from './probes.ts'
import type { Slots } from './slots.ts'
import type { StatusWriter } from './status-writer.ts'
import type { PodVolumes } from './volumes.ts'

export interface PodParts {
  readonly platform: Platform
  readonly linux: Linux
  readonly runtime: ContainerRuntime
  /** Such as `containerd`. */
  readonly runtimeName: () => string
  readonly node: NodeSettings
  readonly machine: () => NodeMachine
  readonly recorder: { record(about: Pod, content: EventContent): void }
  readonly cgroups: Pick<PodCgroups, 'ensure' | 'killProcesses' | 'remove'>
  readonly volumes: Pick<
    PodVolumes,
    'prepare' | 'refresh' | 'nextRefreshMs' | 'subPath' | 'readFile' | 'release'
  >
  readonly images: Pick<Images, 'ensure'>
  readonly objects: Pick<PodObjects, 'configMap' | 'secret' | 'follow' | 'forget'>
  readonly services: Pick<Informer<Service>, 'list' | 'waitForSync'>
  readonly probes: Pick<Probes, 'follow' | 'results' | 'forget'>
  readonly hooks: LifecycleHooks
  /** Limits concurrent sandbox creations. */
  readonly sandboxSlots: Slots
  readonly statuses: Pick<StatusWriter, 'set' | 'finish' | 'forget'>
  /** Handler of the pod's RuntimeClass; undefined for the default. Throws if the class does not exist. */
  readonly handlerOf: (pod: Pod) => Promise<RuntimeHandler | undefined>
}
