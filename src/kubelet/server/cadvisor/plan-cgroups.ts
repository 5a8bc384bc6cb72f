import type { ContainerStatus } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { KubeletConfiguration } from '../../kubelet-configuration.ts'
import type { KubeletPod } from '../../kubelet-pod.ts'
import { kubepodsCgroup, podCgroup, qosCgroup } from '../../pod-paths.ts'
import type { CgroupLabels } from './measured-cgroup.ts'

/** A cgroup to measure. */
export interface PlannedCgroup {
  readonly labels: CgroupLabels
  readonly startedMs: number
  /** The machine and sandboxes have networks; those of containers are the sandbox's. */
  readonly hasNetwork: boolean
}

export interface PlanCgroupsInput {
  readonly node: Pick<KubeletConfiguration, 'cgroupRoot'>
  readonly pods: readonly KubeletPod[]
  readonly sandboxId: (uid: string) => string | undefined
  readonly sandboxImage: string
  readonly bootedMs: number
}

const unnamed = { container: '', image: '', name: '', namespace: '', pod: '' }

/** The machine, the QoS classes, and of each pod its cgroup, its sandbox and its containers. */
export function planCgroups(input: PlanCgroupsInput): readonly PlannedCgroup[] {
  const { node, pods, bootedMs } = input
  const classes = [kubepodsCgroup(node), qosCgroup(node, 'Burstable'), qosCgroup(node, 'BestEffort')]
  return [
    { labels: { ...unnamed, id: '/' }, startedMs: bootedMs, hasNetwork: true },
    ...classes.map(id => ({ labels: { ...unnamed, id }, startedMs: 0, hasNetwork: false })),
    ...pods.flatMap(pod => cgroupsOfPod(pod, input)),
  ]
}

function cgroupsOfPod(
  pod: KubeletPod,
  { node, sandboxId, sandboxImage }: PlanCgroupsInput,
): readonly PlannedCgroup[] {
  const { name, namespace, uid } = pod.metadata
  const id = podCgroup(node, pod)
  const startedMs = parseTime(pod.status?.startTime ?? '') ?? 0
  const ofPod = { ...unnamed, namespace, pod: name }
  const sandbox = sandboxId(uid)
  return [
    { labels: { ...ofPod, id }, startedMs, hasNetwork: false },
    ...(sandbox === undefined
      ? []
      : [
          {
            labels: { ...ofPod, id: `${id}/${sandbox}`, image: sandboxImage, name: sandbox },
            startedMs,
            hasNetwork: true,
          },
        ]),
    ...runningContainers(pod).map(({ container, containerId, image, startedAt }) => ({
      labels: { ...ofPod, id: `${id}/${containerId}`, container, image, name: containerId },
      startedMs: parseTime(startedAt) ?? 0,
      hasNetwork: false,
    })),
  ]
}

interface RunningContainer {
  readonly container: string
  readonly containerId: string
  readonly image: string
  readonly startedAt: string
}

function runningContainers({ status = {} }: KubeletPod): readonly RunningContainer[] {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status
  const all: readonly ContainerStatus[] = [
    ...initContainerStatuses,
    ...containerStatuses,
    ...ephemeralContainerStatuses,
  ]
  return all.flatMap(({ name, image, containerID = '', state }) => {
    const [, containerId] = /:\/\/([^/]+)$/.exec(containerID) ?? []
    if (state?.running === undefined || containerId === undefined) return []
    return [{ container: name, containerId, image, startedAt: state.running.startedAt ?? '' }]
  })
}
