/** Quota evaluator for services: object count, node ports and load balancers. */
import type { Service, ServiceSpec } from '../generated/core/v1.ts'
import { quantityFromInteger } from '../text/quantity.ts'
import { one, type Amounts } from './amounts.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'

const count = objectCountName('', 'services')
const nodePorts = 'services.nodeports'
const loadBalancers = 'services.loadbalancers'
const resources: ReadonlySet<string> = new Set([count, 'services', nodePorts, loadBalancers])

export const serviceEvaluator: QuotaEvaluator = {
  matchesResource: resource => resources.has(resource),
  usage: object => usage((object as Service).spec ?? {}),
  matchesScope: () => false,
  // Updates are charged too, since the type may change.
  handles: ({ subresource }) => subresource === '',
}

function usage(spec: ServiceSpec): Amounts {
  return new Map([
    [count, one],
    ['services', one],
    [nodePorts, quantityFromInteger(nodePortsOf(spec), 'DecimalSI')],
    [loadBalancers, quantityFromInteger(spec.type === 'LoadBalancer' ? 1 : 0, 'DecimalSI')],
  ])
}

/** Ports are not allocated yet at admission, so the number to be allocated is counted. */
function nodePortsOf({ type, ports = [], allocateLoadBalancerNodePorts }: ServiceSpec): number {
  if (type === 'NodePort') return ports.length
  if (type !== 'LoadBalancer') return 0
  if (allocateLoadBalancerNodePorts !== false) return ports.length
  return ports.filter(port => port.nodePort).length
}
