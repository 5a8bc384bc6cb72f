import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { isInt32, parseInt64 } from '#/api/text/int64.ts'
import { parseTime } from '#/api/text/time.ts'
import { readySinceMs } from '../pods.ts'

/**
 * Sorts pods in the order in which they are deleted when scaling down.
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-a-replicaset
 */
export function rankForDeletion(pods: readonly Stored<Pod>[], world: RankWorld): readonly Stored<Pod>[] {
  const onNode = new Map<string, number>()
  for (const { spec } of world.related) {
    if (spec?.nodeName) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1)
  }
  return pods
    .map(pod => ({ pod, sortKey: sortKeyOf(pod, onNode, world.nowMs) }))
    .toSorted((left, right) => compareSortKeys(left.sortKey, right.sortKey))
    .map(({ pod }) => pod)
}

interface RankWorld {
  /** Pods of related sets, including these; a pod on a node with more of them is deleted earlier. */
  readonly related: readonly Pod[]
  readonly nowMs: number
}

/** Sort key, compared element by element; the smaller is deleted first. */
function sortKeyOf(
  pod: Stored<Pod>,
  onNode: ReadonlyMap<string, number>,
  nowMs: number,
): readonly (number | string)[] {
  const { metadata, spec, status } = pod
  const readyMs = readySinceMs(pod)
  const createdMs = parseTime(metadata.creationTimestamp) ?? -Infinity
  return [
    spec?.nodeName ? 1 : 0,
    phases.indexOf(status?.phase ?? 'Pending'),
    readyMs === undefined ? 0 : 1,
    deletionCost(pod),
    -(onNode.get(spec?.nodeName ?? '') ?? 0),
    readyMs === undefined ? 0 : magnitude(nowMs - readyMs),
    ...restarts(pod).map(count => -count),
    magnitude(nowMs - createdMs),
    metadata.uid,
  ]
}

function compareSortKeys(left: readonly (number | string)[], right: readonly (number | string)[]): number {
  for (const [index, value] of left.entries()) {
    const other = right[index]!
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}

const phases: readonly string[] = ['Pending', 'Unknown', 'Running']

/**
 * Logarithmic age: ages within a factor of two are equal, so that the newest pod is not always deleted. A pod
 * without an age sorts first.
 */
function magnitude(ageMs: number): number {
  if (ageMs === Infinity) return -2
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6))
}

/** The pod deletion cost annotation; 0 if it is missing or not a canonical int32. */
function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? ''
  const cost = /^(0|-[0-9]+|[1-9][0-9]*)$/.test(text) ? parseInt64(text) : undefined
  return isInt32(cost) ? cost : 0
}

/** Highest restart count of a container, and of a sidecar. */
function restarts({ spec, status }: Pod): readonly [number, number] {
  const most = (statuses: readonly ContainerStatus[] = []): number => {
    return statuses.reduce((highest, { restartCount }) => Math.max(highest, restartCount), 0)
  }
  const sidecars = new Set(
    spec?.initContainers?.filter(each => each.restartPolicy === 'Always').map(each => each.name),
  )
  return [
    most(status?.containerStatuses),
    most(status?.initContainerStatuses?.filter(({ name }) => sidecars.has(name))),
  ]
}
