import { conditionOf } from '#/api/conditions.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import { amountsOf, type Amounts } from '#/api/core/resource-amounts.ts'
import { doNotScheduleEffects, findMatchingUntoleratedTaint } from '#/api/core/taints.ts'
import type { Node, Pod, Taint } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { compileNodeSelector } from '#/api/selectors/node-selector.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantityFromInteger,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import type { Cause, CauseCode, Evidence, Remedy } from '../diagnosis.ts'
import { eventWith, type Snapshot } from '../collect/snapshot.ts'
import {
  counted,
  kubectl,
  nameOf,
  ofCondition,
  ofEvent,
  ofObject,
  remedy,
  trimmed,
  whyCommand,
} from './phrases.ts'

/** Why no node is selected for a pod. */
export function diagnoseScheduling(snapshot: Snapshot, pod: Stored<Pod>): Cause {
  const { schedulingGates = [], schedulerName = 'default-scheduler' } = pod.spec ?? {}
  const condition = conditionOf(pod.status?.conditions, 'PodScheduled')
  if (schedulingGates.length > 0) {
    const names = schedulingGates.map(({ name }) => name).join(', ')
    return {
      code: 'NotScheduled',
      summary: `${nameOf(pod)} is not scheduled yet, since it has the scheduling gates ${names}.`,
      evidence: condition ? [ofCondition(pod, condition)] : [],
      remedies: [
        remedy('The controller that set a gate removes it when the pod may run; check that controller.'),
      ],
    }
  }
  const event = eventWith(snapshot, pod, ['FailedScheduling'])
  const evidence = condition?.message
    ? [ofCondition(pod, condition)]
    : event
      ? [ofEvent(event, snapshot.nowMs)]
      : []
  if (evidence.length === 0) {
    return {
      code: 'NotScheduled',
      summary: `${nameOf(pod)} is not scheduled, since the scheduler ${quote(schedulerName)} has not considered it.`,
      evidence: [ofObject(pod, `spec.schedulerName is ${schedulerName}`)],
      remedies: [remedy('Check that this scheduler runs:', kubectl('kube-system', 'get', 'lease,pods'))],
    }
  }
  const message = condition?.message ?? event?.message ?? ''
  const { nodes } = snapshot
  if (nodes?.length === 0) {
    return {
      code: 'NotScheduled',
      summary: `${nameOf(pod)} is not scheduled, since the cluster has no nodes.`,
      evidence,
      remedies: [remedy('Add a node:', 'kubectl get nodes')],
    }
  }
  const used = usedByNode(snapshot.scheduledPods)
  const obstacles = (nodes ?? []).map(node => obstacleOf(used, pod, node))
  // A node without an obstacle is rejected for a reason that only the scheduler's message has.
  if (obstacles.length === 0 || obstacles.includes(undefined)) return byMessage(pod, message, evidence)
  return byObstacles(
    pod,
    obstacles.filter(each => each !== undefined),
    evidence,
  )
}

interface Obstacle {
  readonly code: CauseCode
  readonly node: Stored<Node>
  /** Of one node and of several, such as `has` and `have`. */
  readonly verbs: readonly [one: string, several: string]
  /** What follows the verb; the same for all nodes with the same obstacle. */
  readonly text: string
  readonly detail: string
  readonly taint?: Taint
}

function obstacleOf(used: UsedByNode, pod: Stored<Pod>, node: Stored<Node>): Obstacle | undefined {
  const { spec } = node
  if (spec?.unschedulable && !toleratesCordon(pod)) {
    const [verbs, detail] = [['is', 'are'], 'spec.unschedulable is true'] as const
    return { code: 'NotScheduled', node, verbs, text: 'cordoned', detail }
  }
  const mismatch = selectorMismatch(pod, node)
  if (mismatch !== undefined) {
    return {
      code: 'NotScheduled',
      node,
      verbs: ['lacks', 'lack'],
      text: mismatch,
      detail: `labels do not match ${mismatch}`,
    }
  }
  const taint = findMatchingUntoleratedTaint(spec?.taints, pod.spec?.tolerations, doNotScheduleEffects)
  if (taint !== undefined) {
    const text = `the taint ${taintText(taint)}, which the pod does not tolerate`
    return { code: 'Taint', node, verbs: have, text, detail: `has the taint ${taintText(taint)}`, taint }
  }
  return resourceObstacle(used, pod, node)
}

const have = ['has', 'have'] as const

function toleratesCordon({ spec }: Pod): boolean {
  const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
  return findMatchingUntoleratedTaint([taint], spec?.tolerations, doNotScheduleEffects) === undefined
}

function selectorMismatch({ spec }: Pod, node: Node): string | undefined {
  const labels = spec?.nodeSelector ?? {}
  if (Object.keys(labels).length > 0) {
    const selector = selectorFromLabels(labels)
    if (!selector.matches(node.metadata.labels))
      return `the labels ${selector.toString()} of the pod's nodeSelector`
  }
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (required && !compileNodeSelector(required)(node))
    return 'the labels that the node affinity of the pod requires'
  return undefined
}

function resourceObstacle(used: UsedByNode, { spec }: Pod, node: Stored<Node>): Obstacle | undefined {
  const allocatable = amountsOf(node.status?.allocatable)
  const requests: Amounts = new Map([...(spec ? podRequests(spec) : []), ['pods', onePod] as const])
  for (const [name, request] of requests) {
    const total = allocatable.get(name) ?? zeroQuantity
    const free = subtractQuantities(total, used.get(node.metadata.name)?.get(name) ?? zeroQuantity)
    if (compareQuantities(request, free) <= 0) continue
    const amounts = `${formatQuantity(free)} of ${formatQuantity(total)} free`
    const isTooLarge = compareQuantities(request, total) > 0
    const text =
      name === 'pods'
        ? 'no place for another pod'
        : `too little ${name} for the ${formatQuantity(request)} that the pod requests`
    const detail = isTooLarge
      ? `has only ${formatQuantity(total)} ${name} in all, and the pod requests ${formatQuantity(request)}`
      : `has ${amounts} of ${name}, and the pod requests ${formatQuantity(request)}`
    return { code: 'NotScheduled', node, verbs: have, text, detail }
  }
  return undefined
}

type UsedByNode = ReadonlyMap<string, Amounts>

/** What the pods on each node request. Empty if the pods could not be read: then only the nodes' totals count. */
function usedByNode(scheduledPods: readonly Pod[] | undefined): UsedByNode {
  const nodes = new Map<string, Map<string, Quantity>>()
  for (const { spec, status } of scheduledPods ?? []) {
    if (!spec?.nodeName || status?.phase === 'Succeeded' || status?.phase === 'Failed') continue
    const used = nodes.getOrInsertComputed(spec.nodeName, () => new Map<string, Quantity>())
    for (const [name, amount] of [...podRequests(spec), ['pods', onePod] as const]) {
      used.set(name, addQuantities(used.get(name) ?? zeroQuantity, amount))
    }
  }
  return nodes
}

const onePod = quantityFromInteger(1, 'DecimalSI')

const controlPlaneTaints: ReadonlySet<string> = new Set([
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
])

function byObstacles(pod: Stored<Pod>, obstacles: readonly Obstacle[], evidence: readonly Evidence[]): Cause {
  const groups = [...Map.groupBy(obstacles, ({ text }) => text).values()].toSorted((left, right) => {
    // A taint of control plane nodes is intended, so another obstacle is the cause.
    const isIntended = ([first]: readonly Obstacle[]): boolean =>
      controlPlaneTaints.has(first?.taint?.key ?? '')
    return Number(isIntended(left)) - Number(isIntended(right)) || right.length - left.length
  })
  const [first] = groups[0] ?? []
  const texts = groups.map(group => {
    const [one, several] = group[0]?.verbs ?? have
    return `${counted(group.length, 'node')} ${group.length === 1 ? one : several} ${group[0]?.text ?? ''}`
  })
  const all =
    groups.length === 1 && obstacles.length > 1
      ? texts[0]?.replace(/^\d+ nodes/, `all ${obstacles.length} nodes`)
      : undefined
  return {
    code: first?.code ?? 'NotScheduled',
    summary: `${nameOf(pod)} is not scheduled, since ${all ?? texts.join('; ')}.`,
    evidence: [
      ...evidence,
      ...obstacles.slice(0, nodesShown).map(({ node, detail }) => ofObject(node, detail)),
    ],
    remedies: first ? remediesOf(pod, first) : [],
  }
}

const nodesShown = 10

function remediesOf({ metadata }: Stored<Pod>, { taint, node, text, verbs }: Obstacle): readonly Remedy[] {
  if (taint?.key === 'node.kubernetes.io/unreachable' || taint?.key === 'node.kubernetes.io/not-ready') {
    return [remedy('The node is not ready; see why:', whyCommand('node', { name: node.metadata.name }))]
  }
  if (taint) {
    const { key, value, effect } = taint
    const toleration = { key, operator: value ? 'Equal' : 'Exists', ...(value && { value }), effect }
    return [
      remedy(
        `Add the toleration to the pod template, if the pod belongs on this node: ${JSON.stringify(toleration)}`,
      ),
      remedy(
        'Or remove the taint:',
        kubectl(undefined, 'taint', 'nodes', node.metadata.name, `${key}:${effect}-`),
      ),
    ]
  }
  if (text === 'cordoned') {
    return [remedy('Allow pods on the node again:', kubectl(undefined, 'uncordon', node.metadata.name))]
  }
  if (verbs[0] === 'lacks') {
    return [remedy('Compare the labels of the nodes:', kubectl(undefined, 'get', 'nodes', '--show-labels'))]
  }
  return [
    remedy(
      'Request less, remove other pods, or add a node. What is requested on the node:',
      kubectl(undefined, 'describe', 'node', node.metadata.name),
    ),
    remedy(
      'What the pod requests:',
      kubectl(
        metadata.namespace,
        'get',
        'pod',
        metadata.name,
        '-o',
        'jsonpath={.spec.containers[*].resources}',
      ),
    ),
  ]
}

function byMessage(pod: Stored<Pod>, message: string, evidence: readonly Evidence[]): Cause {
  const reasons = /nodes are available: (?<reasons>.*?)(?:\. (?:preemption|no new claims)|\.?$)/s.exec(
    message,
  )?.groups?.['reasons']
  return {
    code: message.includes('taint') && !message.includes(',') ? 'Taint' : 'NotScheduled',
    summary: `${nameOf(pod)} is not scheduled, since no node is suitable: ${trimmed(reasons ?? message)}.`,
    evidence,
    remedies: [
      remedy('Compare the nodes with what the pod asks for:', kubectl(undefined, 'describe', 'nodes')),
    ],
  }
}

function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}
