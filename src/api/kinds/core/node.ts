/** Rules of Node. A kubelet creates its node with a status, which is dropped for most other kinds. */
import { warningsForCidr } from '../../net/cidr.ts'
import type { Node, NodeSpec, NodeStatus } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNode, validateNodeUpdate } from './node/validation.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { withField, withoutField } from '../../copy-on-write.ts'

export const nodeRules: KindRules<Node> = {
  keepStatusOnCreate: true,
  withDefaults: node => withField(withField(node, 'spec', withPodCidrs), 'status', withAllocatable),
  prepareForCreate: node => withoutStatusConfig(withoutConfigSource(node)),
  prepareForUpdate: (node, old) => (old.spec?.configSource ? node : withoutConfigSource(node)),
  prepareForStatusUpdate: (node, old) => (old.status?.config ? node : withoutStatusConfig(node)),
  validate: validateNode,
  validateUpdate: (node, old) => [...validateNode(node), ...validateNodeUpdate(node, old)],
  validateStatusUpdate: validateNodeUpdate,
  warnings: warningsForNode,
  selectableFields: { 'spec.unschedulable': node => String(node.spec?.unschedulable ?? false) },
}

/** `podCIDR` mirrors the first entry of `podCIDRs`; if they differ, `podCIDR` wins. */
function withPodCidrs(spec: NodeSpec): NodeSpec {
  const { podCIDR, podCIDRs = [] } = spec
  const [first] = podCIDRs
  if (podCIDR) return podCIDR === first ? spec : { ...spec, podCIDRs: [podCIDR] }
  return first ? { ...spec, podCIDR: first } : spec
}

/** Without reservations, allocatable defaults to capacity. */
function withAllocatable(given: NodeStatus): NodeStatus {
  const status = withField(withField(given, 'capacity', roundUp), 'allocatable', roundUp)
  const { capacity, allocatable } = status
  return allocatable === undefined && capacity !== undefined ? { ...status, allocatable: capacity } : status
}

/**
 * The field belongs to a removed feature (dynamic kubelet configuration): it is kept where it is already set
 * and dropped otherwise.
 */
function withoutConfigSource(node: Node): Node {
  return withField(node, 'spec', spec => withoutField(spec, 'configSource'))
}

function withoutStatusConfig(node: Node): Node {
  return withField(node, 'status', status => withoutField(status, 'config'))
}

function warningsForNode({ spec = {} }: Node): string[] {
  const warnings: string[] = []
  if (spec.configSource) warnings.push('spec.configSource: the feature is removed')
  if (spec.externalID) warnings.push('spec.externalID: this field is deprecated, and is unused by Kubernetes')
  return [
    ...warnings,
    ...(spec.podCIDRs?.flatMap((range, index) => {
      return warningsForCidr(`spec.podCIDRs[${index}]`, range)
    }) ?? []),
  ]
}
