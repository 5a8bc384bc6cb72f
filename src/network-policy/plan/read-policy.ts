import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#/api/generated/networking/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import { blockRanges, mergeRanges } from './block-ranges.ts'
import { selectionOf, type Selection } from './selection.ts'

export type Protocol = 'tcp' | 'udp' | 'sctp'

export const directions = ['ingress', 'egress'] as const
export type Direction = (typeof directions)[number]

/** A policy with its defaults and compiled selectors, and without the shorthands of the API. */
export interface PolicyRules {
  readonly key: string
  /** The pods that the policy isolates. */
  readonly subject: Selection
  /** Allowed connections; undefined if the policy does not isolate in this direction. */
  readonly ingress: readonly PolicyRule[] | undefined
  readonly egress: readonly PolicyRule[] | undefined
}

/** Allows connections between a pod of the policy and a peer. */
export interface PolicyRule {
  /** Undefined for all addresses. */
  readonly peers: PolicyPeers | undefined
  /** Undefined for all protocols. */
  readonly ports: PolicyPorts | undefined
}

export interface PolicyPeers {
  readonly selections: readonly Selection[]
  /** Union of all `ipBlock` without their exceptions, as `10.0.0.0-10.0.0.9`; disjoint and sorted. */
  readonly ranges: Readonly<Record<IpFamily, readonly string[]>>
}

/** Ports of the destination. */
export interface PolicyPorts {
  /** As `80` and `8000-8080`, disjoint and sorted; empty for all ports of the protocol. */
  readonly numbers: ReadonlyMap<Protocol, readonly string[]>
  readonly names: readonly PortName[]
}

export interface PortName {
  readonly protocol: Protocol
  readonly name: string
}

const portMax = 65_535

export function readPolicy(policy: NetworkPolicy): PolicyRules {
  const { metadata, spec = {} } = policy
  const { namespace = '' } = metadata
  const { policyTypes, ingress = [], egress = [], podSelector } = spec
  const types = policyTypes?.length ? policyTypes : ['Ingress', ...(egress.length > 0 ? ['Egress'] : [])]
  const rule = (peers: Peers, ports: Ports): PolicyRule => {
    return { peers: readPeers(peers, namespace), ports: readPorts(ports) }
  }
  return {
    key: keyOf(policy),
    subject: selectionOf({ namespace, podSelector }),
    ingress: types.includes('Ingress') ? ingress.map(({ from, ports }) => rule(from, ports)) : undefined,
    egress: types.includes('Egress') ? egress.map(({ to, ports }) => rule(to, ports)) : undefined,
  }
}

export function protocolOf(text = 'TCP'): Protocol | undefined {
  return protocols.get(text)
}

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
])

type Peers = readonly NetworkPolicyPeer[] | undefined
type Ports = readonly NetworkPolicyPort[] | undefined

/** An absent list and an empty one allow all. */
function readPeers(peers: Peers, namespace: string): PolicyPeers | undefined {
  if (!peers?.length) return undefined
  const selections = peers.flatMap(({ ipBlock, namespaceSelector, podSelector }) =>
    ipBlock ? [] : selectionOf({ namespace, namespaceSelector, podSelector }),
  )
  const blocks = peers.flatMap(({ ipBlock }) => ipBlock ?? [])
  return {
    selections: [...new Map(selections.map(each => [each.key, each])).values()],
    ranges: { 4: blockRanges(blocks, 4), 6: blockRanges(blocks, 6) },
  }
}

/** An absent list and an empty one allow all. */
function readPorts(ports: Ports): PolicyPorts | undefined {
  if (!ports?.length) return undefined
  const ranges = new Map<Protocol, [bigint, bigint][]>()
  const names = new Map<string, PortName>()
  for (const { protocol: text, port, endPort } of ports) {
    const protocol = protocolOf(text)
    if (protocol === undefined) continue
    if (typeof port === 'string') names.set(`${protocol} ${port}`, { protocol, name: port })
    else {
      const range: [bigint, bigint] = [BigInt(port ?? 0), BigInt(endPort ?? port ?? portMax)]
      ranges.set(protocol, [...(ranges.get(protocol) ?? []), range])
    }
  }
  const numbers = [...ranges].map(([protocol, all]) => [protocol, formatPorts(all)] as const)
  return { numbers: new Map(numbers), names: [...names.values()] }
}

function formatPorts(ranges: readonly (readonly [bigint, bigint])[]): readonly string[] {
  const merged = mergeRanges(ranges)
  if (merged.some(([first, last]) => first <= 1n && last >= portMax)) return []
  return merged.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
}
