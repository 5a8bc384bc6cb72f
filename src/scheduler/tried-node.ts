/**
 * Runs the filters of a pod on a node as it is, and with pods hypothetically added or removed, for nominated
 * pods and preemption. Works on immutable values.
 */
import type { FilterCycle, FilterFailure, Refusal } from './framework.ts'
import { nodeInfoOf, withPod, type NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

export type Filters = FilterFailure['filters']

/** A node and the filter cycles of a pod. */
export interface TriedNode {
  readonly node: NodeInfo
  readonly filters: Filters
}

/** The pod, and the nominated pods of each node. */
export interface TriedBy {
  readonly pod: PodInfo
  readonly nominated: (node: string) => readonly PodInfo[]
}

/**
 * Filters a node; undefined if it is feasible. It must be feasible both with the nominated pods of higher or
 * equal priority and without them, since they may never arrive.
 */
export function refusalWithNominated(
  node: NodeInfo,
  filters: Filters,
  { pod, nominated }: TriedBy,
): Refusal | undefined {
  const waiting = nominated(node.name)
  if (waiting.length > 0) {
    let crowded = { node, filters }
    for (const other of waiting) if (isBefore(other, pod)) crowded = besides(crowded, other)
    const refusal = crowded.node === node ? undefined : refusalOn(crowded.node, crowded.filters)
    if (refusal !== undefined) return refusal
  }
  return refusalOn(node, filters)
}

/** With a pod added (addPod). */
export function besides(tried: TriedNode, pod: PodInfo): TriedNode {
  const node = withPod(tried.node, pod)
  return { node, filters: changeFilters(tried.filters, cycle => cycle.withPod?.(pod, node)) }
}

/** With some of its pods removed (removePod). */
export function without({ node, filters }: TriedNode, gone: readonly PodInfo[]): TriedNode {
  const uids = new Set(gone.map(({ uid }) => uid))
  const rest = nodeInfoOf(
    node.node,
    node.pods.filter(({ uid }) => !uids.has(uid)),
  )
  const left = gone.reduce(
    (changed, pod) => changeFilters(changed, cycle => cycle.withoutPod?.(pod, rest)),
    filters,
  )
  return { node: rest, filters: left }
}

/** True if the nominated pod takes precedence over the other. */
function isBefore(nominated: PodInfo, pod: PodInfo): boolean {
  return nominated.uid !== pod.uid && nominated.priority >= pod.priority
}

/** Runs the filters on a node; undefined if it is feasible. */
function refusalOn(node: NodeInfo, filters: Filters): Refusal | undefined {
  for (const { plugin, cycle } of filters) {
    const refusal = cycle.test(node)
    if (refusal !== undefined) return named(refusal, plugin)
  }
  return undefined
}

/** Cache: plugins return the same refusal for many nodes, so the plugin name is added once. */
const namedRefusals = new WeakMap<Refusal, Refusal>()

function named(refusal: Refusal, plugin: string): Refusal {
  const known = namedRefusals.get(refusal)
  if (known?.plugin === plugin) return known
  const made = { ...refusal, plugin }
  namedRefusals.set(refusal, made)
  return made
}

function changeFilters(filters: Filters, change: (cycle: FilterCycle) => FilterCycle | undefined): Filters {
  let changed: Filters[number][] | undefined
  for (const [index, { plugin, cycle }] of filters.entries()) {
    const next = change(cycle)
    if (next === undefined || next === cycle) continue
    changed ??= [...filters]
    changed[index] = { plugin, cycle: next }
  }
  return changed ?? filters
}
