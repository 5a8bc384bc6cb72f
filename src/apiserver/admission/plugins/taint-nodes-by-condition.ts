/**
 * Taints new nodes as not ready, so that no pods are scheduled to them before their conditions are reported.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#taintnodesbycondition
 */
import type { Node, Taint } from '#/api/generated/core/v1.ts'
import { matchesResource, type AdmissionPlugin } from '../admission-chain.ts'

export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    handles: target => target.operation === 'CREATE' && matchesResource(target, 'nodes'),
    mutate: ({ object }) => {
      const node = object as Node
      const taints = node.spec?.taints ?? []
      if (taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)) return node
      const tainted: Node = { ...node, spec: { ...node.spec, taints: [...taints, notReady] } }
      return tainted
    },
  }
}

const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
