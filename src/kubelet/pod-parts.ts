/**
 * What the workers of pods share: one of each for the whole kubelet, which puts them together. Everything a worker
 * knows beside its own pod it knows through these.
 */
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
  /** `containerd`. */
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
  /** Sandboxes that are made at a time. */
  readonly sandboxSlots: Slots
  readonly statuses: Pick<StatusWriter, 'set' | 'finish' | 'forget'>
  /** Of the pod's runtime class; undefined for the usual one. Throws when there is no such class. */
  readonly handlerOf: (pod: Pod) => Promise<RuntimeHandler | undefined>
}
