/**
 * Runs the filters of a pod on a node as it is, and with pods hypothetically added or removed, for nominated
 * pods and preemption. Works on immutable values.
 */
import type { FilterState, Diagnosis, Unschedulable } from './framework.ts'
import { nodeInfoOf, withPod, type NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

export type Filters = Diagnosis['filters']

/** A node and the filter states of a pod. */
export interface NodeWithFilters {
  readonly node: NodeInfo
  readonly filters: Filters
}

/** The pod, and the nominated pods of each node. */
export interface NominatedPods {
  readonly pod: PodInfo
  readonly nominated: (node: string) => readonly PodInfo[]
}

/**
 * Filters a node; undefined if it is feasible. It must be feasible both with the nominated pods of higher or
 * equal priority and without them, since they may never arrive.
 */
export function filterWithNominatedPods(
  node: NodeInfo,
  filters: Filters,
  { pod, nominated }: NominatedPods,
): Unschedulable | undefined {
  const waiting = nominated(node.name)
  if (waiting.length > 0) {
    let crowded = { node, filters }
    for (const other of waiting) if (isBefore(other, pod)) crowded = addPod(crowded, other)
    const status = crowded.node === node ? undefined : runFilters(crowded.node, crowded.filters)
    if (status !== undefined) return status
  }
  return runFilters(node, filters)
}

/** With a pod added. */
export function addPod(tried: NodeWithFilters, pod: PodInfo): NodeWithFilters {
  const node = withPod(tried.node, pod)
  return { node, filters: changeFilters(tried.filters, state => state.addPod?.(pod, node)) }
}

/** With some of its pods removed. */
export function removePods({ node, filters }: NodeWithFilters, gone: readonly PodInfo[]): NodeWithFilters {
  const uids = new Set(gone.map(({ uid }) => uid))
  const rest = nodeInfoOf(
    node.node,
    node.pods.filter(({ uid }) => !uids.has(uid)),
  )
  const left = gone.reduce(
    (changed, pod) => changeFilters(changed, state => state.removePod?.(pod, rest)),
    filters,
  )
  return { node: rest, filters: left }
}

/** True if the nominated pod takes precedence over the other. */
function isBefore(nominated: PodInfo, pod: PodInfo): boolean {
  return nominated.uid !== pod.uid && nominated.priority >= pod.priority
}

/** Runs the filters on a node; undefined if it is feasible. */
export function runFilters(node: NodeInfo, filters: Filters): Unschedulable | undefined {
  for (const { plugin, state } of filters) {
    const status = state.filter(node)
    if (status !== undefined) return named(status, plugin)
  }
  return undefined
}

/** Cache: plugins return the same status for many nodes, so the plugin name is added once. */
const namedStatuses = new WeakMap<Unschedulable, Unschedulable>()

function named(status: Unschedulable, plugin: string): Unschedulable {
  const known = namedStatuses.get(status)
  if (known?.plugin === plugin) return known
  const made = { ...status, plugin }
  namedStatuses.set(status, made)
  return made
}

function changeFilters(filters: Filters, change: (state: FilterState) => FilterState | undefined): Filters {
  let changed: Filters[number][] | undefined
  for (const [index, { plugin, state }] of filters.entries()) {
    const next = change(state)
    if (next === undefined || next === state) continue
    changed ??= [...filters]
    changed[index] = { plugin, state: next }
  }
  return changed ?? filters
}
