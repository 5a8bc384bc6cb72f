import { int32Max } from '#/api/text/int64.ts'
import type { PodSamples, Sample } from './metrics.ts'
import type { SampleGroups } from './sample-groups.ts'

/** Relative deviation of usage from its target within which nothing is scaled. */
export interface Tolerance {
  readonly up: number
  readonly down: number
}

export interface PerPodWorld {
  readonly currentReplicas: number
  /** Without unready and ignored pods. */
  readonly samples: PodSamples
  readonly groups: SampleGroups
  readonly tolerance: Tolerance
  /** Ratio of usage to target. */
  readonly ratioOf: (samples: PodSamples) => number
  /** Assumed usage of a pod without a sample when scaling down. */
  readonly highUsageOf: (pod: string) => bigint
}

/**
 * Desired replicas from per-pod metrics, in proportion to the ratio of usage to target. Assumptions about
 * missing samples are conservative: they reduce the change and never reverse its direction.
 * https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
 */
export function replicasByPods(world: PerPodWorld): number {
  const { currentReplicas, samples, groups, tolerance, ratioOf, highUsageOf } = world
  const ratio = ratioOf(samples)
  const areMoreComing = groups.unready.size > 0 && ratio > 1
  if (!areMoreComing && groups.missing.size === 0) {
    return isWithin(tolerance, ratio) ? currentReplicas : wholeReplicas(ratio * groups.ready)
  }
  const filled = new Map(samples)
  for (const pod of groups.missing) {
    if (ratio < 1) filled.set(pod, assumed(highUsageOf(pod)))
    else if (ratio > 1) filled.set(pod, assumed(0n))
  }
  if (areMoreComing) for (const pod of groups.unready) filled.set(pod, assumed(0n))
  const filledRatio = ratioOf(filled)
  const turns = (ratio < 1 && filledRatio > 1) || (ratio > 1 && filledRatio < 1)
  if (turns || isWithin(tolerance, filledRatio)) return currentReplicas
  const replicas = wholeReplicas(filledRatio * filled.size)
  const isContrary = filledRatio < 1 ? replicas > currentReplicas : replicas < currentReplicas
  return isContrary ? currentReplicas : replicas
}

export function isWithin({ up, down }: Tolerance, ratio: number): boolean {
  return 1 - down <= ratio && ratio <= 1 + up
}

/** Rounded up, and limited to int32. */
export function wholeReplicas(replicas: number): number {
  return Math.min(Math.ceil(replicas), int32Max)
}

function assumed(milliValue: bigint): Sample {
  return { milliValue, atMs: 0, windowMs: 0 }
}
