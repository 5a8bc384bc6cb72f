/** Validation of the NetworkPolicy spec. */
import { cidrContainsCidr, parseCidr, validateCidrForLegacyField } from '../../net/cidr.ts'
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  IPBlock,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../generated/networking/v1.ts'
import { validateSelector } from '../validation/selectors.ts'
import { validatePortNumber, validatePortOrName } from '../validation/ports.ts'

/** CIDRs in `known` are not validated. */
export function validateNetworkPolicySpec(spec: NetworkPolicySpec, known: ReadonlySet<string>): FieldError[] {
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = spec
  return [
    ...validateSelector('spec.podSelector', podSelector),
    ...ingress.flatMap(({ ports, from }, index) => [
      ...validatePorts(`spec.ingress[${index}].ports`, ports),
      ...validatePeers(`spec.ingress[${index}].from`, from, known),
    ]),
    ...egress.flatMap(({ ports, to }, index) => [
      ...validatePorts(`spec.egress[${index}].ports`, ports),
      ...validatePeers(`spec.egress[${index}].to`, to, known),
    ]),
    ...validatePolicyTypes('spec.policyTypes', policyTypes),
  ]
}

function validatePorts(field: string, ports: readonly NetworkPolicyPort[] = []): FieldError[] {
  return ports.flatMap((port, index) => validatePort(`${field}[${index}]`, port))
}

const protocols = ['TCP', 'UDP', 'SCTP']

function validatePort(field: string, { protocol, port, endPort }: NetworkPolicyPort): FieldError[] {
  const errors: FieldError[] = []
  if (protocol !== undefined && !protocols.includes(protocol)) {
    errors.push(notSupported(`${field}.protocol`, protocol, protocols))
  }
  const complain = (value: number, detail: string) => errors.push(invalid(`${field}.endPort`, value, detail))
  if (port === undefined) {
    if (endPort !== undefined) complain(endPort, 'may not be specified when `port` is not specified')
    return errors
  }
  if (typeof port === 'string') {
    if (endPort !== undefined) complain(endPort, 'may not be specified when `port` is non-numeric')
    return [...errors, ...validatePortOrName(`${field}.port`, port)]
  }
  errors.push(...validatePortNumber(`${field}.port`, port))
  if (endPort === undefined) return errors
  // As in Kubernetes, the error shows the port, not `endPort`.
  if (endPort < port) complain(port, 'must be greater than or equal to `port`')
  return [...errors, ...validatePortNumber(`${field}.endPort`, endPort)]
}

function validatePeers(
  field: string,
  peers: readonly NetworkPolicyPeer[] | undefined,
  known: ReadonlySet<string>,
): FieldError[] {
  return peers?.flatMap((peer, index) => validatePeer(`${field}[${index}]`, peer, known)) ?? []
}

/** A peer is a pod selector, a namespace selector, both, or an IP block. */
function validatePeer(field: string, peer: NetworkPolicyPeer, known: ReadonlySet<string>): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer
  const errors = [
    ...(podSelector ? validateSelector(`${field}.podSelector`, podSelector) : []),
    ...(namespaceSelector ? validateSelector(`${field}.namespaceSelector`, namespaceSelector) : []),
    ...(ipBlock ? validateBlock(`${field}.ipBlock`, ipBlock, known) : []),
  ]
  if (!podSelector && !namespaceSelector && !ipBlock)
    return [...errors, required(field, 'must specify a peer')]
  const isMixed = ipBlock && (podSelector || namespaceSelector)
  return isMixed
    ? [...errors, forbiddenField(field, 'may not specify both ipBlock and another peer')]
    : errors
}

function validateBlock(
  field: string,
  { cidr, except = [] }: IPBlock,
  known: ReadonlySet<string>,
): FieldError[] {
  if (!cidr) return [required(`${field}.cidr`, '')]
  const errors = known.has(cidr) ? [] : validateCidrForLegacyField(`${field}.cidr`, cidr)
  const outer = parseCidr(cidr)
  if (outer === undefined) return errors
  for (const [index, range] of except.entries()) {
    if (!known.has(range)) errors.push(...validateCidrForLegacyField(`${field}.except[${index}]`, range))
    const inner = parseCidr(range)
    const isInside = inner && cidrContainsCidr(outer, inner) && inner.prefixLength > outer.prefixLength
    if (inner === undefined || isInside) continue
    errors.push(invalid(`${field}.except[${index}]`, range, 'must be a strict subset of `cidr`'))
  }
  return errors
}

function validatePolicyTypes(field: string, types: readonly string[]): FieldError[] {
  if (types.length > 2) return [invalid(field, types, 'may not specify more than two policyTypes')]
  return types.flatMap((type, index) => {
    const isKnown = type === 'Ingress' || type === 'Egress'
    return isKnown ? [] : [notSupported(`${field}[${index}]`, type, ['Ingress', 'Egress'])]
  })
}
