import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { isInt32, parseInt64 } from '#/api/int64.ts'
import { parseTime } from '#/api/time.ts'
import { readySinceMs } from '../pods.ts'

/**
 * Pods in the order in which they are removed: those first that would be missed least.
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-a-replicaset
 */
export function rankVictims(pods: readonly Pod[], world: VictimWorld): readonly Pod[] {
  const onNode = new Map<string, number>()
  for (const { spec } of world.related) {
    if (spec?.nodeName) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1)
  }
  return pods
    .map(pod => ({ pod, places: placesOf(pod, onNode, world.nowMs) }))
    .toSorted((left, right) => comparePlaces(left.places, right.places))
    .map(({ pod }) => pod)
}

interface VictimWorld {
  /** Pods that are spread over nodes together with these, these among them. */
  readonly related: readonly Pod[]
  readonly nowMs: number
}

/** Compared one after the other: the smaller goes first. */
function placesOf(
  pod: Pod,
  onNode: ReadonlyMap<string, number>,
  nowMs: number,
): readonly (number | string)[] {
  const { metadata, spec, status } = pod
  const readyMs = readySinceMs(pod)
  const createdMs = parseTime(metadata?.creationTimestamp ?? '') ?? -Infinity
  return [
    spec?.nodeName ? 1 : 0,
    phases.indexOf(status?.phase ?? 'Pending'),
    readyMs === undefined ? 0 : 1,
    deletionCost(pod),
    -(onNode.get(spec?.nodeName ?? '') ?? 0),
    readyMs === undefined ? 0 : magnitude(nowMs - readyMs),
    ...restarts(pod).map(count => -count),
    magnitude(nowMs - createdMs),
    metadata?.uid ?? '',
  ]
}

function comparePlaces(left: readonly (number | string)[], right: readonly (number | string)[]): number {
  for (const [index, place] of left.entries()) {
    const other = right[index]!
    if (place !== other) return place < other ? -1 : 1
  }
  return 0
}

const phases: readonly string[] = ['Pending', 'Unknown', 'Running']

/**
 * Ages that differ by less than a factor of two are the same, so that it is not always the newest that goes. Who has
 * no age goes first.
 */
function magnitude(ageMs: number): number {
  if (ageMs === Infinity) return -2
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6))
}

/** What somebody says it costs to lose the pod; 0 unless it is a whole number as Kubernetes writes them. */
function deletionCost({ metadata }: Pod): number {
  const text = metadata?.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? ''
  const cost = /^(0|-[0-9]+|[1-9][0-9]*)$/.test(text) ? parseInt64(text) : undefined
  return isInt32(cost) ? cost : 0
}

/** Of the container that restarted most, and of the sidecar that did. */
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
