/** Creates the components of the kubelet and connects them. It starts none: `kubelet.ts` runs them. */
import { join } from 'node:path'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import { runtimeClasses } from '#/api/generated/node/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { Informers } from '#/client/informers.ts'
import type { RuntimeHandler } from '#/cri/cri.ts'
import { PodCgroups } from './cgroups.ts'
import { ContainerLogs, type WrittenLog } from './container-logs.ts'
import { Eviction, type PressureType } from './eviction.ts'
import { Images } from './images.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { KubeletOptions } from './kubelet.ts'
import { LifecycleHooks } from './lifecycle-hooks.ts'
import { MirrorPods } from './mirror-pods.ts'
import type { MachineInfo } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { declaredFeatures } from './declared-features.ts'
import { NodeRegistration } from './node-status.ts'
import { OrphanedPodCleanup } from './orphaned-pod-cleanup.ts'
import { PodObjects } from './pod-objects.ts'
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts'
import { containerLogPath, podLogFolder } from './pod-paths.ts'
import { PodSources } from './pod-sources.ts'
import { PodStartupLatency } from './pod-startup-latency.ts'
import type { PodSteps } from './pod-steps.ts'
import type { PodWorker } from './pod-worker.ts'
import { Probes } from './probes.ts'
import { Semaphore } from './semaphore.ts'
import { StatusWriter } from './status-writer.ts'
import { reportPendingCalls, UnresponsiveSandboxes } from './unresponsive-sandboxes.ts'
import { PodVolumes } from './volumes.ts'
import { QosCgroups } from './qos-cgroups.ts'
import { PodWorkers } from './pod-workers.ts'

/** Limit of concurrent sandbox creations: each uses a CPU for a while and then waits for the kernel. */
const sandboxesMin = 8
const sandboxesPerProcessor = 4

/** State determined at run time, and the change callback. */
export interface RuntimeDependentState {
  readonly metrics: KubeletMetrics
  readonly machine: () => MachineInfo
  readonly runtimeName: () => string
  readonly handlers: () => readonly RuntimeHandler[]
  readonly onChange: (uid: string) => void
}

/** The components of a kubelet, not yet running. */
export type KubeletComponents = ReturnType<typeof kubeletComponents>

export function kubeletComponents(given: KubeletOptions, known: RuntimeDependentState) {
  const options = { ...given, runtime: reportPendingCalls(given, id => void unresponsive.check(id)) }
  const { platform, linux, runtime, client, node } = options
  const { metrics } = known
  const shared = { platform, linux, client, node, runtime, metrics }
  const base = workerComponents(options, known, {
    requestSync: uid => workers.get(uid)?.requestSync(),
    stepsOf: uid => workers.get(uid)?.steps,
    kill: sandbox => unresponsive.kill(sandbox),
    pressures: () => eviction.pressures,
  })
  const { informer, cgroups, volumes, images, statuses, registration } = base
  const unresponsive: UnresponsiveSandboxes = new UnresponsiveSandboxes({
    ...shared,
    runtime: given.runtime,
    cgroups,
    recorder: base.dependencies.recorder,
    pod: uid => workers.get(uid)?.pod,
  })
  const sources = new PodSources({ ...shared, informer })
  const nodeObject = (): Stored<Node> | undefined => registration.nodes.get(node.name)
  const active = (): readonly KubeletPod[] =>
    workers.all().flatMap(({ isActive, pod }) => (isActive ? [pod] : []))
  const classes = new QosCgroups({ platform, cgroups, pods: active })
  const workers: PodWorkers = new PodWorkers({
    dependencies: base.dependencies,
    sources,
    node: nodeObject,
    pressures: () => eviction.pressures,
    onChange: known.onChange,
    onAdd: () => classes.update(),
    onGone: pod => {
      classes.update()
      statuses.forget(pod.metadata.uid)
      base.dependencies.startup.forget(pod.metadata.uid)
      mirrors.enqueue(keyOf(pod))
    },
  })
  const eviction: Eviction = new Eviction({
    ...shared,
    volumes,
    cgroups,
    images,
    workers: () => workers.all(),
    recorder: base.dependencies.recorder,
    recordOfNode: content => registration.record(content),
    onPressureChange: () => registration.check(),
  })
  const isTerminating = (key: string): boolean => workers.all().some(({ pod }) => keyOf(pod) === key)
  const mirrors = new MirrorPods({ platform, client, informer, sources, node: nodeObject, isTerminating })
  const orphans = new OrphanedPodCleanup({
    ...shared,
    volumes,
    cgroups,
    known: () => new Set([...sources.all(), ...workers.all()].map(({ pod }) => pod.metadata.uid)),
  })
  const running = (): readonly WrittenLog[] => workers.all().flatMap(logsOf(node))
  const logs = new ContainerLogs({ ...shared, files: linux.files, running })
  return { ...base, sources, workers, eviction, mirrors, orphans, classes, logs, unresponsive }
}

/** What depends on the pod workers. */
interface WorkerLinks extends Pick<UnresponsiveSandboxes, 'kill'> {
  readonly requestSync: (uid: string) => void
  readonly stepsOf: (uid: string) => PodSteps | undefined
  readonly pressures: () => ReadonlySet<PressureType>
}

/** Dependencies shared by the pod workers, and what they are built from. */
function workerComponents(
  options: KubeletOptions,
  known: RuntimeDependentState,
  { requestSync, stepsOf, kill, pressures }: WorkerLinks,
) {
  const { platform, linux, runtime, client, node, connectHttp, pinnedImages = [] } = options
  const { machine, metrics } = known
  const shared = { platform, linux, client, node, runtime, metrics }
  const startup = new PodStartupLatency(platform.clock, metrics.pods)
  const recorder = new EventRecorder({ client, platform, component: 'kubelet', host: node.name })
  const ofPods = { record: recordsOfPods(recorder) }
  const informers = new Informers({ platform, client })
  const informer = informers.of(pods, { fieldSelector: `spec.nodeName=${node.name}` })
  const objects = new PodObjects(shared)
  const volumes = new PodVolumes({ ...shared, objects, allocatable: () => machine().allocatable })
  const images = new Images({ ...shared, objects, recorder: ofPods, pinnedImages, startup, stepsOf })
  const cgroups = new PodCgroups({ ...shared, hugePageSizes: machine().hugePageSizes })
  const statuses = new StatusWriter({ ...shared, informer })
  const ofProbes = { metrics: metrics.probes, recorder: ofPods, onChange: requestSync, stepsOf }
  const probes = new Probes({ ...options, ...ofProbes })
  const { version } = options
  const registration = new NodeRegistration({
    ...shared,
    images,
    recorder,
    pressures,
    version,
    declaredFeatures,
  })
  const dependencies: PodWorkerDependencies = {
    ...shared,
    ...known,
    startup,
    recorder: ofPods,
    cgroups,
    volumes,
    images,
    objects,
    services: informers.of(services),
    probes,
    hooks: new LifecycleHooks({ ...shared, connectHttp }),
    unresponsive: { kill },
    statuses,
    sandboxSemaphore: new Semaphore(Math.max(sandboxesMin, sandboxesPerProcessor * linux.machine.processors)),
    handlerOf: pod => findHandler(options, known, pod),
    protectPod: options.protectPod,
  }
  return {
    dependencies,
    recorder,
    informers,
    informer,
    objects,
    volumes,
    images,
    cgroups,
    statuses,
    probes,
    registration,
  }
}

function logsOf(node: KubeletConfiguration): (worker: PodWorker) => readonly WrittenLog[] {
  return ({ pod, observed }) => {
    const folder = podLogFolder(node, pod)
    return observed.containers
      .filter(({ state }) => state === 'running')
      .map(({ id, name, attempt }) => ({
        containerId: id,
        path: join(folder, containerLogPath(name, attempt)),
      }))
  }
}

/** Adds `apiVersion` and `kind`, which objects from a list lack. */
function recordsOfPods(recorder: EventRecorder): PodWorkerDependencies['recorder']['record'] {
  return (pod, content) => recorder.record({ ...pod, apiVersion: 'v1', kind: 'Pod' }, content)
}

async function findHandler(
  { client }: KubeletOptions,
  { handlers }: RuntimeDependentState,
  { spec }: Pod,
): Promise<RuntimeHandler | undefined> {
  const name = spec?.runtimeClassName
  if (!name) return handlers().find(handler => handler.name === '')
  const found = await client.find(runtimeClasses, { name })
  if (found === undefined) throw new Error(`RuntimeClass "${name}" not found`)
  const known = handlers().find(handler => handler.name === found.handler)
  return (
    known ?? { name: found.handler, supportsUserNamespaces: false, supportsRecursiveReadOnlyMounts: false }
  )
}
