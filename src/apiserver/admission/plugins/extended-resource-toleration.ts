/**
 * Adds tolerations for the taints of dedicated nodes to pods that request extended resources.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
 */
import type { Pod, Toleration } from '#/api/generated/core/v1.ts'
import { isExtendedResource } from '#/api/core/pod-resources.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import { podWrites, specOf, withSpec } from './pod-spec.ts'

export function extendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    handles: podWrites(['CREATE', 'UPDATE']),
    mutate: ({ object }) => {
      const pod = object as Pod
      const { tolerations = [], containers, initContainers = [] } = specOf(pod)
      const requests = [...containers, ...initContainers].flatMap(each =>
        Object.keys(each.resources?.requests ?? {}),
      )
      const names = [...new Set(requests)].filter(isExtendedResource).sort()
      const missing = names.filter(name => !tolerations.some(each => isFor(each, name)))
      return missing.length === 0
        ? pod
        : withSpec(pod, { tolerations: [...tolerations, ...missing.map(tolerationOf)] })
    },
  }
}

function tolerationOf(key: string): Toleration {
  return { key, operator: 'Exists', effect: 'NoSchedule' }
}

function isFor({ key, operator, effect, value }: Toleration, name: string): boolean {
  return key === name && operator === 'Exists' && effect === 'NoSchedule' && !value
}
