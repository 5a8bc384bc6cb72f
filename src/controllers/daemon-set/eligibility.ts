import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Node, PodSpec, Toleration } from '#/api/generated/core/v1.ts'
import { compileNodeSelector } from '#/api/selectors/node-selector.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import { doNotScheduleEffects, findMatchingUntoleratedTaint } from '#/api/core/taints.ts'

export interface Eligibility {
  /** A pod should run on the node. */
  readonly shouldRun: boolean
  /** An existing pod may continue to run on the node. */
  readonly shouldContinueRunning: boolean
}

const everywhere: Eligibility = { shouldRun: true, shouldContinueRunning: true }
const nowhere: Eligibility = { shouldRun: false, shouldContinueRunning: false }

/** Returns a function that decides whether the pods of a DaemonSet run on a node. */
export function nodeShouldRunDaemonPod(set: DaemonSet): (node: Node) => Eligibility {
  return compiled.getOrInsertComputed(set, () => compile(set.spec?.template.spec ?? { containers: [] }))
}

/** Cached per object, since objects are immutable and every node is checked. */
const compiled = new WeakMap<DaemonSet, (node: Node) => Eligibility>()

function compile(spec: PodSpec): (node: Node) => Eligibility {
  const tolerations = daemonTolerations(spec)
  const labels = selectorFromLabels(spec.nodeSelector)
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const isSelected = required ? compileNodeSelector(required) : () => true
  return node => {
    const isNamed = !spec.nodeName || spec.nodeName === node.metadata.name
    if (!isNamed || !labels.matches(node.metadata.labels) || !isSelected(node)) return nowhere
    const { taints } = node.spec ?? {}
    if (findMatchingUntoleratedTaint(taints, tolerations, doNotScheduleEffects) === undefined)
      return everywhere
    // A NoSchedule taint prevents new pods; existing ones stay unless there is a NoExecute taint.
    return findMatchingUntoleratedTaint(taints, tolerations, ['NoExecute']) === undefined
      ? { shouldRun: false, shouldContinueRunning: true }
      : nowhere
  }
}

/**
 * The template's tolerations and those added to every daemon pod.
 * https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
 */
export function daemonTolerations(spec: PodSpec): readonly Toleration[] {
  const automatic: Toleration[] = [
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
  ]
  if (spec.hostNetwork) {
    automatic.push({
      key: 'node.kubernetes.io/network-unavailable',
      operator: 'Exists',
      effect: 'NoSchedule',
    })
  }
  return automatic.reduce(withToleration, spec.tolerations ?? [])
}

/** Replaces a toleration of the same taint, which may have `tolerationSeconds`. */
function withToleration(tolerations: readonly Toleration[], added: Toleration): readonly Toleration[] {
  const place = tolerations.findIndex(({ key, operator, effect, value = '' }) => {
    return key === added.key && operator === added.operator && effect === added.effect && value === ''
  })
  return place === -1 ? [...tolerations, added] : tolerations.with(place, added)
}
