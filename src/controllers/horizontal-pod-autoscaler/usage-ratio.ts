import { int32Max } from '#/api/int64.ts'
import type { PodSamples, Sample } from './metrics.ts'
import type { SampleGroups } from './sample-groups.ts'

/** How far usage may be from its target, as a part of it, before anything is done. */
export interface Tolerance {
  readonly up: number
  readonly down: number
}

export interface PerPodWorld {
  readonly currentReplicas: number
  /** Of pods that count as they are: none that is unready or ignored is among them. */
  readonly samples: PodSamples
  readonly groups: SampleGroups
  readonly tolerance: Tolerance
  /** Usage as a part of its target. */
  readonly ratioOf: (samples: PodSamples) => number
  /** What a pod of which nothing is known is taken to use when the others use too little. */
  readonly highUsageOf: (pod: string) => bigint
}

/**
 * How many pods would use as much each as they should: as many times more or fewer as they use more or less
 * than that. What is not known is assumed such that less happens, and never the contrary of what is known.
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

/** So many, or the one more that a fraction needs. */
export function wholeReplicas(replicas: number): number {
  return Math.min(Math.ceil(replicas), int32Max)
}

function assumed(milliValue: bigint): Sample {
  return { milliValue, atMs: 0, windowMs: 0 }
}
