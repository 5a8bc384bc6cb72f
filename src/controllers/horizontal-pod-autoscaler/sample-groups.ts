import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import type { PodSamples, Sample } from './metrics.ts'

/** Names of pods grouped by how their samples are treated. Pods in no group count as sampled. */
export interface SampleGroups {
  /** Number of pods in no group. */
  readonly ready: number
  /** Starting pods; their usage is not representative. */
  readonly unready: ReadonlySet<string>
  /** Pods without a sample. */
  readonly missing: ReadonlySet<string>
  /** Pods that are being deleted or have failed. */
  readonly ignored: ReadonlySet<string>
}

export interface ReadinessTimes {
  /** For pods started within this time, CPU usage counts only if sampled while ready. */
  readonly cpuInitializationMs: number
  /** A pod that became unready later than this after its start is assumed to have been ready before. */
  readonly initialReadinessDelayMs: number
}

interface SampleWorld {
  readonly times: ReadinessTimes
  readonly nowMs: number
}

export function groupSamples(
  pods: readonly Stored<Pod>[],
  samples: PodSamples,
  world: SampleWorld & { readonly resource: string | undefined },
): SampleGroups {
  const unready = new Set<string>()
  const missing = new Set<string>()
  const ignored = new Set<string>()
  let ready = 0
  for (const pod of pods) {
    const name = pod.metadata.name
    const sample = samples.get(name)
    if (isBeingDeleted(pod) || pod.status?.phase === 'Failed') ignored.add(name)
    else if (pod.status?.phase === 'Pending') unready.add(name)
    else if (sample === undefined) missing.add(name)
    // Only CPU usage is unrepresentative during startup.
    else if (world.resource === 'cpu' && isStarting(pod, sample, world)) unready.add(name)
    else ready++
  }
  return { ready, unready, missing, ignored }
}

/** https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#pod-readiness-and-autoscaling-metrics */
function isStarting({ status }: Pod, sample: Sample, { times, nowMs }: SampleWorld): boolean {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready')
  const startMs = parseTime(status?.startTime ?? '')
  if (condition === undefined || startMs === undefined) return true
  const sinceMs = parseTime(condition.lastTransitionTime ?? '') ?? -Infinity
  const isUnready = condition.status === 'False'
  if (startMs + times.cpuInitializationMs > nowMs) return isUnready || sample.atMs < sinceMs + sample.windowMs
  return isUnready && startMs + times.initialReadinessDelayMs > sinceMs
}
