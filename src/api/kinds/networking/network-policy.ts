/** Rules of NetworkPolicy. https://kubernetes.io/docs/concepts/services-networking/network-policies/ */
import { warningsForCidr } from '../../net/cidr.ts'
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../generated/networking/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { mapCopyOnWrite, withField, withMissing } from '../../copy-on-write.ts'
import { validateNetworkPolicySpec } from './network-policy-validation.ts'

export const networkPolicyRules: KindRules<NetworkPolicy> = {
  withDefaults: withPolicyDefaults,
  validate: policy => validateNetworkPolicySpec(policy.spec ?? {}, new Set()),
  // CIDRs of the old object remain valid.
  validateUpdate: (policy, old) => {
    const known = blocksOf(old.spec ?? {}).flatMap(({ block }) => [block.cidr ?? '', ...(block.except ?? [])])
    return validateNetworkPolicySpec(policy.spec ?? {}, new Set(known))
  },
  warnings: policy => blocksOf(policy.spec ?? {}).flatMap(warningsForBlock),
  tracksGeneration: true,
}

function withPolicyDefaults(policy: NetworkPolicy): NetworkPolicy {
  const spec = withSpecDefaults(policy.spec ?? {})
  return spec === policy.spec ? policy : { ...policy, spec }
}

function withSpecDefaults(given: NetworkPolicySpec): NetworkPolicySpec {
  let spec = withMissing(given, { podSelector: {} })
  spec = withField(spec, 'ingress', rules => mapCopyOnWrite(rules, withPorts))
  spec = withField(spec, 'egress', rules => mapCopyOnWrite(rules, withPorts))
  if (spec.policyTypes?.length) return spec
  return { ...spec, policyTypes: spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress'] }
}

function withPorts<T extends { readonly ports?: readonly NetworkPolicyPort[] }>(rule: T): T {
  const { ports } = rule
  if (ports === undefined) return rule
  const filled = mapCopyOnWrite(ports, port => withMissing(port, { protocol: 'TCP' }))
  return filled === ports ? rule : { ...rule, ports: filled }
}

interface FoundBlock {
  readonly field: string
  readonly block: IPBlock
}

function blocksOf({ ingress = [], egress = [] }: NetworkPolicySpec): FoundBlock[] {
  const found = (field: string, peers: readonly NetworkPolicyPeer[] = []): FoundBlock[] => {
    return peers.flatMap(({ ipBlock: block }, index) => {
      return block ? [{ field: `${field}[${index}].ipBlock`, block }] : []
    })
  }
  return [
    ...ingress.flatMap((rule, index) => found(`spec.ingress[${index}].from`, rule.from)),
    ...egress.flatMap((rule, index) => found(`spec.egress[${index}].to`, rule.to)),
  ]
}

function warningsForBlock({ field, block }: FoundBlock): string[] {
  return [
    ...warningsForCidr(`${field}.cidr`, block.cidr ?? ''),
    ...(block.except?.flatMap((range, index) => warningsForCidr(`${field}.except[${index}]`, range)) ?? []),
  ]
}
