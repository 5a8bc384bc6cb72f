import {
  simulatedPodUsage,
  simulatedUsage,
  sumOfUsage,
  type SimulatedUsage,
} from '#/api/core/simulated-usage.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { ContainerStats, CpuStats, MemoryStats, PodStats, Summary } from '../server/summary.ts'

export interface SimulatedNodeStats {
  readonly nodeName: string
  readonly pods: readonly KubeletPod[]
  readonly nowMs: number
}

/** Summary of a hollow node: constant usage of the running pods since their start. */
export function simulatedStats({ nodeName, pods, nowMs }: SimulatedNodeStats): Summary {
  const running = pods.filter(({ status }) => status?.phase === 'Running')
  const startTimes = running.map(({ status }) => status?.startTime ?? formatTime(nowMs)).toSorted()
  const startTime = startTimes[0] ?? formatTime(nowMs)
  const usage = statsOf(sumOfUsage(running.map(simulatedPodUsage)), startTime, nowMs)
  return { node: { nodeName, startTime, ...usage }, pods: running.map(pod => podStats(pod, nowMs)) }
}

function podStats(pod: KubeletPod, nowMs: number): PodStats {
  const { name, namespace, uid } = pod.metadata
  const startTime = pod.status?.startTime ?? formatTime(nowMs)
  const containers = [...simulatedUsage(pod)].map(([container, usage]): ContainerStats => {
    return { name: container, startTime, ...statsOf(usage, startTime, nowMs) }
  })
  return {
    podRef: { name, namespace, uid },
    startTime,
    containers,
    ...statsOf(simulatedPodUsage(pod), startTime, nowMs),
  }
}

function statsOf(
  { nanoCores, memoryBytes }: SimulatedUsage,
  startTime: string,
  nowMs: number,
): { readonly cpu: CpuStats; readonly memory: MemoryStats } {
  const time = formatTime(nowMs)
  const seconds = (nowMs - (parseTime(startTime) ?? nowMs)) / 1_000
  return {
    cpu: { time, usageNanoCores: nanoCores, usageCoreNanoSeconds: Math.round(nanoCores * seconds) },
    memory: {
      time,
      usageBytes: memoryBytes,
      workingSetBytes: memoryBytes,
      rssBytes: memoryBytes,
      pageFaults: 0,
      majorPageFaults: 0,
    },
  }
}
