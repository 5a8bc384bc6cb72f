import type { Pod } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { PodInfo } from '../../pod-info.ts'

/** Orders pods by importance: higher priority first, then earlier start. */
export function moreImportantPod(nowMs: number): (left: PodInfo, right: PodInfo) => number {
  return (left, right) => right.priority - left.priority || startMs(left, nowMs) - startMs(right, nowMs)
}

const known = new WeakMap<Pod, number>()

/** The current time for a pod that has not started. */
export function startMs({ pod }: PodInfo, nowMs: number): number {
  const startedMs = known.get(pod)
  if (startedMs !== undefined) return startedMs
  const read = parseTime(pod.status?.startTime ?? '')
  if (read === undefined) return nowMs
  known.set(pod, read)
  return read
}
