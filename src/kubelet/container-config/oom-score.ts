/**
 * Computes `oom_score_adj`: BestEffort containers are killed first, then Burstable ones that exceed their
 * requests, Guaranteed and node-critical ones last. The kernel adds the value to the process's share of
 * memory in thousandths.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-out-of-memory-behavior
 */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { aggregatePodResources } from '#/api/core/pod-resources.ts'
import { qosClassOf } from '#/api/core/qos-class.ts'
import { quantityValue, zeroQuantity } from '#/api/text/quantity.ts'
import { wholeAmount } from '../resource-amount.ts'

const safest = -997
const firstToGo = 1_000

export function oomScoreOf(pod: Pod, container: Container, memoryBytes: number): number {
  if (isNodeCritical(pod)) return safest
  const qosClass = qosClassOf(pod)
  if (qosClass === 'Guaranteed') return safest
  if (qosClass === 'BestEffort') return firstToGo
  const share = sharedRequest(pod)
  const own = wholeAmount(container.resources?.requests, 'memory') + share
  // A sidecar must not be killed before the main containers.
  const asked = isSidecarOf(pod, container) ? Math.max(own, smallestRequest(pod) + share) : own
  const score = 1_000 - Math.floor((1_000 * asked) / memoryBytes)
  return Math.min(Math.max(score, 1_000 + safest), firstToGo - 1)
}

function isNodeCritical({ metadata, spec }: Pod): boolean {
  if (spec?.priorityClassName !== 'system-node-critical') return false
  const { annotations = {} } = metadata
  const source = annotations['kubernetes.io/config.source'] ?? 'api'
  const isOwn = source !== 'api' || annotations['kubernetes.io/config.mirror'] !== undefined
  return isOwn || (spec.priority ?? 0) >= criticalPriority
}

/** Priority of `system-cluster-critical`; pods at or above it are critical. */
const criticalPriority = 2_000_000_000

/** Each container's equal share of the pod-level request beyond the containers' requests. */
function sharedRequest(pod: Pod): number {
  const { resources, containers = [], initContainers = [] } = pod.spec ?? {}
  const ofPod = wholeAmount(resources?.requests, 'memory')
  if (ofPod === 0) return 0
  const { resources: _, ...rest } = pod.spec ?? { containers: [] }
  const ofContainers = Number(
    quantityValue(aggregatePodResources(rest, 'requests').get('memory') ?? zeroQuantity),
  )
  return Math.trunc((ofPod - ofContainers) / (containers.length + initContainers.length))
}

function isSidecarOf(pod: Pod, { name, restartPolicy }: Container): boolean {
  return (
    restartPolicy === 'Always' && (pod.spec?.initContainers ?? []).some(container => container.name === name)
  )
}

function smallestRequest(pod: Pod): number {
  const requests = (pod.spec?.containers ?? []).map(({ resources }) =>
    wholeAmount(resources?.requests, 'memory'),
  )
  return requests.length === 0 ? 0 : Math.min(...requests)
}
