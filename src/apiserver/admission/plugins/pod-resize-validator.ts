/**
 * Rejects a resize that exceeds the node's allocatable resources or targets a node that does not support it:
 * the kubelet could never apply it.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import {
  compareQuantities,
  quantityMilliValue,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { podWrites, specOf } from './pod-spec.ts'

export function podResizeValidator(context: PluginContext): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    handles: podWrites(['UPDATE'], ['resize']),
    validate(request) {
      const pod = request.object as Pod
      const name = pod.spec?.nodeName
      if (!name || pod.metadata.generation === request.oldObject?.metadata.generation) return
      const node = getCached(context, nodes, { name })
      if (node === undefined) throw admissionForbidden(request, `node "${name}" not found`)
      const system = node.metadata.labels?.['kubernetes.io/os'] ?? 'linux'
      if (system !== 'linux') {
        const text = `pod resize is only supported on linux nodes, node "${name}" is "${system}"`
        throw admissionForbidden(request, text, [{ reason: 'UnsupportedPlatform' }])
      }
      const excess = excessOf(pod, node)
      if (excess.length === 0) return
      const text = `node didn't have enough allocatable resources: ${excess.join('; ')}`
      throw admissionForbidden(request, text, [{ reason: 'NodeCapacity' }])
    },
  }
}

type Show = (quantity: Quantity) => bigint

/** Requests that exceed the node's allocatable resources, as messages. */
function excessOf(pod: Pod, { status }: Node): readonly string[] {
  const requests = podRequests(specOf(pod))
  const shown: Readonly<Record<string, Show>> = { cpu: quantityMilliValue, memory: quantityValue }
  return Object.entries(shown).flatMap(([name, show]) => {
    const asked = requests.get(name) ?? zeroQuantity
    const allocatable = tryParseQuantity(status?.allocatable?.[name] ?? '') ?? zeroQuantity
    if (compareQuantities(asked, allocatable) <= 0) return []
    return [`${name}, requested: ${show(asked)}, allocatable: ${show(allocatable)}`]
  })
}
