/**
 * Preemption: makes an unschedulable pod fit by evicting pods of lower priority. The victims are selected on
 * the snapshot; the scheduler evicts them asynchronously.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
 */
import { messageOf } from '#/base/message-of.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Eviction, FilterFailure, PluginFactory, ReviewEvictions } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import { noneAvailable } from '../reasons.ts'
import { Budgets } from './default-preemption/budgets.ts'
import { chooseEviction } from './default-preemption/choose-eviction.ts'
import { evict, isPreempted } from './default-preemption/evict.ts'
import { findEvictions } from './default-preemption/find-evictions.ts'

export const defaultPreemption: PluginFactory = ({ platform, informer }, parameters) => {
  const { clock, random } = platform
  const wantedOf = readWanted(parameters)
  const budgets = informer(podDisruptionBudgets)
  return {
    name: 'DefaultPreemption',
    // The plugin never refuses a pod.
    wakeUps: [],
    makeRoom: async (pod, failure, review) => {
      const objection = whyNotEligible(pod, failure)
      if (objection !== undefined) return { message: `preemption: ${objection}` }
      const { filters, nominated, snapshot } = failure
      const nodes = nodesToTry(failure)
      const nowMs = clock.now()
      const { found, refusals } = await findEvictions({
        pod,
        filters,
        nominated,
        nodes,
        nowMs,
        clock,
        budgets: new Budgets(nodes.length === 0 ? [] : budgets.list()),
        startAt: nodes.length === 0 ? 0 : random.integer('first node for preemption', nodes.length),
        wanted: wantedOf(nodes.length),
      })
      if (found.length === 0) {
        const message = noneAvailable(snapshot.nodes.length, refusals, notHelpful)
        return { message: `preemption: ${message}`, dropsNomination: true }
      }
      const reviewed = await askOthers(() => review(pod, found))
      if ('message' in reviewed) return reviewed
      const eviction = chooseEviction(reviewed.left, nowMs)
      if (eviction === undefined) return { message: 'preemption: no candidate node for preemption' }
      const { node, victims } = eviction
      if (victims.every(victim => isBeingDeleted(victim.pod))) return { node }
      const displaced = nominated(node).filter(({ priority }) => priority < pod.priority)
      return { node, prepare: work => evict({ pod, node, victims, displaced, nowMs }, work) }
    },
  }
}

/** If an extender fails, no pod is preempted in this cycle. */
async function askOthers(
  review: () => ReturnType<ReviewEvictions>,
): Promise<{ readonly left: readonly Eviction[] } | { readonly message: string }> {
  try {
    return { left: await review() }
  } catch (error) {
    return { message: `preemption: ${messageOf(error)}` }
  }
}

const notHelpful = 'Preemption is not helpful for scheduling'

/** Reason why the pod is not eligible to preempt others. */
function whyNotEligible({ pod, priority }: PodInfo, failure: FilterFailure): string | undefined {
  const { nominatedNode, snapshot } = failure
  if (pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  if (nominatedNode === undefined || isHopeless(nominatedNode, failure)) return undefined
  const isAwaited = snapshot
    .get(nominatedNode)
    ?.pods.some(victim => victim.priority < priority && isPreempted(victim.pod))
  return isAwaited ? 'not eligible due to a terminating pod on the nominated node.' : undefined
}

/** True if evicting pods cannot make the pod fit the node. */
function isHopeless(node: string, { everywhere, refusals }: FilterFailure): boolean {
  const refusal = refusals.get(node)
  return everywhere !== undefined || refusal === undefined || refusal.isFinal === true
}

/** Nodes where preemption may help. */
function nodesToTry({ everywhere, refusals, snapshot }: FilterFailure): readonly NodeInfo[] {
  if (everywhere !== undefined) return []
  return [...refusals].flatMap(([name, { isFinal }]) => (isFinal ? [] : (snapshot.get(name) ?? [])))
}

/** Number of candidates to find for a number of nodes. Throws for invalid args. */
function readWanted(parameters: Readonly<Record<string, unknown>>): (nodes: number) => number {
  const { minCandidateNodesPercentage: percentage = 10, minCandidateNodesAbsolute: absolute = 100 } =
    parameters
  if (!isCount(percentage) || percentage > 100)
    throw new Error(
      `minCandidateNodesPercentage: Invalid value: ${String(percentage)}: not in valid range [0, 100]`,
    )
  if (!isCount(absolute))
    throw new Error(
      `minCandidateNodesAbsolute: Invalid value: ${String(absolute)}: not in valid range [0, inf)`,
    )
  if (percentage === 0 && absolute === 0) {
    throw new Error(
      'minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute',
    )
  }
  return nodes => Math.min(nodes, Math.max(absolute, Math.floor((nodes * percentage) / 100)))
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
