import type { IpFamily } from '#/api/net/ip.ts'
import { objectId } from '#/nftables/objects.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import { clientOf, serverOf } from '../base-rules.ts'
import type { Direction, PolicyPeers, PolicyPorts, PolicyRule, PortName } from './read-policy.ts'
import type { Selection } from './selection.ts'

export interface PolicyChain {
  readonly direction: Direction
  readonly family: IpFamily
  /** Name of the chain. */
  readonly chain: string
  readonly rules: readonly PolicyRule[]
  /** Names of the sets with the addresses of pods, undefined for one without, and with addresses and named ports. */
  readonly peerSet: (selection: Selection) => string | undefined
  readonly portSet: (port: PortName) => string
}

/** Maximum number of combinations of peers and ports that are written as one rule each. */
const combinationsMax = 8

/**
 * The chain of a policy for one direction: it accepts what the policy allows and returns otherwise. A rule with many
 * peers and many ports gets a chain of its own for the peers, so that the number of rules is their sum and not their
 * product.
 */
export function policyChain(input: PolicyChain): Fragment {
  const objects = new Map<string, string>()
  const lines: string[] = []
  for (const [index, rule] of input.rules.entries()) {
    const peers = peerMatches(rule.peers, input)
    const ports = portMatches(rule.ports, input)
    if (peers.length * ports.length <= combinationsMax) {
      lines.push(...ports.flatMap(port => peers.map(peer => `${port}${peer}accept`)))
    } else {
      const chain = `${input.chain}/${index}`
      objects.set(objectId('chain', chain), peers.map(peer => `${peer}accept`).join('\n'))
      lines.push(...ports.map(port => `${port}jump ${chain}`))
    }
  }
  objects.set(objectId('chain', input.chain), lines.join('\n'))
  return objects
}

function peerMatches(peers: PolicyPeers | undefined, input: PolicyChain): readonly string[] {
  if (peers === undefined) return ['']
  const { direction, family, peerSet } = input
  const address = direction === 'ingress' ? clientOf(family) : serverOf(family)
  const ranges = peers.ranges[family]
  const isAll = ranges.some(range => range.endsWith('/0'))
  const blocks = isAll ? [''] : rangeMatches(address, ranges)
  const sets = peers.selections.flatMap(selection => peerSet(selection) ?? [])
  return [...blocks, ...sets.map(set => `${address} @${set} `)]
}

/**
 * Maximum number of ranges with one match each; more become an anonymous set. With a thousand such sets in a table,
 * `nft` takes a tenth of a second for any change, since it reads them all.
 */
const rangesMax = 4

function rangeMatches(field: string, ranges: readonly string[]): readonly string[] {
  if (ranges.length > rangesMax) return [`${field} { ${ranges.join(', ')} } `]
  return ranges.map(range => `${field} ${range} `)
}

/** `nft` knows the type of `proto-src` only after a match of the protocol. */
function portMatches(ports: PolicyPorts | undefined, { family, portSet }: PolicyChain): readonly string[] {
  if (ports === undefined) return ['']
  const numbers = [...ports.numbers].flatMap(([protocol, ranges]) => {
    const match = `ct original protocol ${protocol} `
    return ranges.length > 0 ? rangeMatches(`${match}ct reply proto-src`, ranges) : [match]
  })
  const names = ports.names.map(name => {
    return `ct original protocol ${name.protocol} ${serverOf(family)} . ct reply proto-src @${portSet(name)} `
  })
  return [...numbers, ...names]
}
