/** Quota evaluators for kinds of which only objects are counted, and for services. */
import { one, type Amounts } from './amounts.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'
import type { Service, ServiceSpec } from '../generated/core/v1.ts'
import { quantityFromInteger } from '../text/quantity.ts'

/** Kinds with a short quota name, which predates `count/...`. */
const oldNames: ReadonlyMap<string, string> = new Map(
  ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'].map(name => [`count/${name}`, name]),
)

export function objectCountEvaluator(group: string, plural: string): QuotaEvaluator {
  const count = objectCountName(group, plural)
  const old = oldNames.get(count)
  const usage = new Map([count, ...(old === undefined ? [] : [old])].map(name => [name, one]))
  return {
    matchesResource: resource => usage.has(resource),
    usage: () => usage,
    matchesScope: () => false,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
  }
}

const serviceCount = objectCountName('', 'services')
const nodePorts = 'services.nodeports'
const loadBalancers = 'services.loadbalancers'
const serviceResources: ReadonlySet<string> = new Set([serviceCount, 'services', nodePorts, loadBalancers])

/** Object count, node ports and load balancers. */
export const serviceEvaluator: QuotaEvaluator = {
  matchesResource: resource => serviceResources.has(resource),
  usage: object => serviceUsage((object as Service).spec ?? {}),
  matchesScope: () => false,
  // Updates are charged too, since the type may change.
  handles: ({ subresource }) => subresource === '',
}

function serviceUsage(spec: ServiceSpec): Amounts {
  return new Map([
    [serviceCount, one],
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
