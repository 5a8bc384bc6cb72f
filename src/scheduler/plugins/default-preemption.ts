/**
 * Preemption: makes an unschedulable pod fit by evicting pods of lower priority. The victims are selected on
 * the snapshot; the scheduler evicts them asynchronously.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
 */
import { messageOf } from '#/base/message-of.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { PreemptionCandidate, Diagnosis, PluginFactory, ProcessPreemption } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import { fitErrorMessage } from '../fit-error.ts'
import { DisruptionBudgets } from './default-preemption/budgets.ts'
import { prepareCandidate, isPreempted } from './default-preemption/prepare-candidate.ts'
import { findCandidates, selectCandidate } from './default-preemption/find-candidates.ts'

export const defaultPreemption: PluginFactory = ({ platform, informer, metrics }, args) => {
  const { clock, random } = platform
  const wantedOf = readWanted(args)
  const budgets = informer(podDisruptionBudgets)
  return {
    name: 'DefaultPreemption',
    // The plugin never rejects a pod.
    eventsToRegister: [],
    postFilter: async (pod, diagnosis, processPreemption) => {
      metrics.preemptionAttempts.add()
      const ineligible = whyNotEligible(pod, diagnosis)
      if (ineligible !== undefined) return { message: `preemption: ${ineligible}` }
      const { filters, nominated, snapshot } = diagnosis
      const nodes = nodesToTry(diagnosis)
      const nowMs = clock.now()
      const { found, nodeToStatus } = await findCandidates({
        pod,
        filters,
        nominated,
        nodes,
        nowMs,
        clock,
        budgets: new DisruptionBudgets(nodes.length === 0 ? [] : budgets.list()),
        startAt: nodes.length === 0 ? 0 : random.integer('first node for preemption', nodes.length),
        wanted: wantedOf(nodes.length),
      })
      if (found.length === 0) {
        const message = fitErrorMessage(snapshot.nodes.length, nodeToStatus, notHelpful)
        return { message: `preemption: ${message}`, clearsNominatedNode: true }
      }
      const processed = await callExtenders(() => processPreemption(pod, found))
      if ('message' in processed) return processed
      const candidate = selectCandidate(processed.left, nowMs)
      if (candidate === undefined) return { message: 'preemption: no candidate node for preemption' }
      const { node, victims } = candidate
      if (victims.every(victim => isBeingDeleted(victim.pod))) return { node }
      const lowerPriorityNominatedPods = nominated(node).filter(({ priority }) => priority < pod.priority)
      return {
        node,
        preempt: work => {
          metrics.preemptionVictims.observe(victims.length)
          return prepareCandidate({ pod, node, victims, lowerPriorityNominatedPods, nowMs }, work)
        },
      }
    },
  }
}

/** If an extender fails, no pod is preempted in this cycle. */
async function callExtenders(
  run: () => ReturnType<ProcessPreemption>,
): Promise<{ readonly left: readonly PreemptionCandidate[] } | { readonly message: string }> {
  try {
    return { left: await run() }
  } catch (error) {
    return { message: `preemption: ${messageOf(error)}` }
  }
}

const notHelpful = 'Preemption is not helpful for scheduling'

/** Reason why the pod is not eligible to preempt others. */
function whyNotEligible({ pod, priority }: PodInfo, diagnosis: Diagnosis): string | undefined {
  const { nominatedNode, snapshot } = diagnosis
  if (pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  if (nominatedNode === undefined || isUnresolvableOn(nominatedNode, diagnosis)) return undefined
  const isAwaited = snapshot
    .get(nominatedNode)
    ?.pods.some(victim => victim.priority < priority && isPreempted(victim.pod))
  return isAwaited ? 'not eligible due to a terminating pod on the nominated node.' : undefined
}

/** True if evicting pods cannot make the pod fit the node. */
function isUnresolvableOn(node: string, { preFilterStatus, nodeToStatus }: Diagnosis): boolean {
  const status = nodeToStatus.get(node)
  return preFilterStatus !== undefined || status === undefined || status.isUnresolvable === true
}

/** Nodes where preemption may help. */
function nodesToTry({ preFilterStatus, nodeToStatus, snapshot }: Diagnosis): readonly NodeInfo[] {
  if (preFilterStatus !== undefined) return []
  return [...nodeToStatus].flatMap(([name, { isUnresolvable }]) =>
    isUnresolvable ? [] : (snapshot.get(name) ?? []),
  )
}

/** Number of candidates to find for a number of nodes. Throws for invalid args. */
function readWanted(args: Readonly<Record<string, unknown>>): (nodes: number) => number {
  const { minCandidateNodesPercentage: percentage = 10, minCandidateNodesAbsolute: absolute = 100 } = args
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
