import { conditionOf } from '#/api/conditions.ts'
import type { Node, NodeCondition, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Cause, Evidence } from '../diagnosis.ts'
import { eventsOf, type Snapshot } from '../collect/snapshot.ts'
import {
  ageOf,
  counted,
  healthy,
  kubectl,
  nameOf,
  ofCondition,
  ofEvent,
  ofObject,
  remedy,
  trimmed,
  whyCommand,
} from './phrases.ts'

/** Set if the node of a pod does not exist or is not ready. */
export function diagnoseNodeOf({ nodes, nowMs }: Snapshot, pod: Stored<Pod>): Cause | undefined {
  const { nodeName } = pod.spec ?? {}
  if (nodes === undefined || !nodeName) return undefined
  const effect = isBeingDeleted(pod)
    ? 'cannot finish terminating'
    : 'does not run any more, as far as is known'
  const node = nodes.find(({ metadata }) => metadata.name === nodeName)
  if (node === undefined) {
    return {
      code: 'NodeGone',
      summary: `${nameOf(pod)} ${effect}, since its Node ${nodeName} does not exist any more.`,
      evidence: [ofObject(pod, `spec.nodeName is ${nodeName}`)],
      remedies: [remedy('See the nodes:', 'kubectl get nodes')],
    }
  }
  const ready = conditionOf(node.status?.conditions, 'Ready')
  if (ready?.status === 'True' || ready === undefined) return undefined
  // A node that reports itself as not ready still runs its pods.
  if (ready.status === 'False' && !isBeingDeleted(pod) && pod.status?.phase === 'Running') return undefined
  return {
    code: 'NodeGone',
    summary: `${nameOf(pod)} ${effect}, since its Node ${nodeName} ${readyProblem(ready, nowMs)}.`,
    evidence: [ofCondition(node, ready), ...taintEvidence(node)],
    remedies: [
      remedy('Bring the machine or its kubelet back; see why:', whyCommand('node', { name: nodeName })),
    ],
  }
}

/** `stopped reporting 5m ago`. */
function readyProblem(
  { status, lastTransitionTime, lastHeartbeatTime, message }: NodeCondition,
  nowMs: number,
): string {
  if (status !== 'Unknown') return `is not ready: ${trimmed(message ?? '')}`
  const age = ageOf(lastHeartbeatTime, nowMs) ?? ageOf(lastTransitionTime, nowMs)
  return `has stopped reporting${age ? ` ${age} ago` : ''}`
}

function taintEvidence(node: Stored<Node>): readonly Evidence[] {
  const taints = (node.spec?.taints ?? []).map(
    ({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`,
  )
  return taints.length > 0 ? [ofObject(node, `taints: ${taints.join(', ')}`)] : []
}

const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'] as const

/** Why a node is not ready or takes no pods. */
export function diagnoseNode(snapshot: Snapshot, node: Stored<Node>): Cause {
  const { conditions } = node.status ?? {}
  const name = nameOf(node)
  const ready = conditionOf(conditions, 'Ready')
  const warnings = eventsOf(snapshot, node).filter(({ type }) => type === 'Warning')
  const evidence: readonly Evidence[] = [
    ...(ready ? [ofCondition(node, ready)] : []),
    ...taintEvidence(node),
    ...warnings.slice(0, 3).map(event => ofEvent(event, snapshot.nowMs)),
  ]
  if (ready?.status !== 'True') {
    const isSilent = ready?.status === 'Unknown'
    const why = ready ? readyProblem(ready, snapshot.nowMs) : 'has never reported its status'
    const pods = snapshot.pods?.length ?? 0
    return {
      code: isSilent || !ready ? 'NodeGone' : 'NodeUnhealthy',
      summary: `${name} is not ready, since it ${why}${pods > 0 ? `; it has ${counted(pods, 'pod')}` : ''}.`,
      evidence,
      remedies: isSilent
        ? [
            remedy(
              'Check that the machine runs and reaches the API server, and the log of its kubelet:',
              'journalctl -u kubelet -n 50',
            ),
            remedy(
              'If the machine is gone for good, delete the node, so that its pods run elsewhere:',
              kubectl(undefined, 'delete', 'node', node.metadata.name),
            ),
          ]
        : [
            remedy(
              'See the conditions of the node:',
              kubectl(undefined, 'describe', 'node', node.metadata.name),
            ),
          ],
    }
  }
  const pressure = pressures
    .flatMap(type => conditionOf(conditions, type) ?? [])
    .find(({ status }) => status === 'True')
  if (pressure) {
    return {
      code: 'NodeUnhealthy',
      summary: `${name} takes no more pods, since it has ${pressure.type}: ${trimmed(pressure.message ?? '')}.`,
      evidence: [ofCondition(node, pressure), ...evidence],
      remedies: [
        remedy(
          'Free the resource on the node; what runs there:',
          kubectl(undefined, 'describe', 'node', node.metadata.name),
        ),
      ],
    }
  }
  if (node.spec?.unschedulable) {
    return {
      code: 'Taint',
      summary: `${name} takes no new pods, since it is cordoned.`,
      evidence: [ofObject(node, 'spec.unschedulable is true'), ...evidence],
      remedies: [remedy('Allow pods on it again:', kubectl(undefined, 'uncordon', node.metadata.name))],
    }
  }
  return healthy(`${name} is ready.`, evidence)
}
