/**
 * Names of the iptables chains, in upstream's layout. Several clusters may share the tables of a machine: the chains of
 * `k8ts up` are `KUBE0-SERVICES` with the number of the cluster, those of a host of several machines `KUBE-SERVICES`.
 */
import { hash } from 'node:crypto'
import type { PortPlan, ServiceEndpoint } from '../plan.ts'

export type FixedChain =
  | 'SERVICES'
  | 'NODEPORTS'
  | 'NODEPORT-ADDRESSES'
  | 'POSTROUTING'
  | 'MARK-MASQ'
  | 'MARK-FOREIGN'
  | 'EXTERNAL-SERVICES'
  | 'PROXY-FIREWALL'
  | 'CLUSTER-IPS'
  | 'FIREWALL'
  | 'REJECT'

/** `SVC` any endpoint, `SVL` endpoints of this node, `EXT` external clients, `FW` source ranges, `SEP` one endpoint. */
export type HashedChain = 'SVC' | 'SVL' | 'EXT' | 'FW' | 'SEP'

export class ChainNames {
  readonly #prefix: string

  /** `table` is the name of the nftables tables of the same cluster. */
  constructor(table: string) {
    this.#prefix = prefixOf(table)
  }

  fixed(chain: FixedChain): string {
    return `${this.#prefix}-${chain}`
  }

  hashed(chain: Exclude<HashedChain, 'SEP'>, { id }: PortPlan): string {
    return `${this.#prefix}-${chain}-${digest(id)}`
  }

  endpoint({ id }: PortPlan, { address, port }: ServiceEndpoint): string {
    return `${this.#prefix}-SEP-${digest(`${id} ${address} ${port}`)}`
  }

  /** Matches the names of all chains of this cluster, and of no others such as those of a kubelet. */
  get pattern(): string {
    const fixed = Object.keys(fixedChains).join('|')
    return `${this.#prefix}-(${fixed}|(SVC|SVL|EXT|FW|SEP)-[0-9A-V]{16})`
  }
}

const fixedChains: Readonly<Record<FixedChain, true>> = {
  'SERVICES': true,
  'NODEPORTS': true,
  'NODEPORT-ADDRESSES': true,
  'POSTROUTING': true,
  'MARK-MASQ': true,
  'MARK-FOREIGN': true,
  'EXTERNAL-SERVICES': true,
  'PROXY-FIREWALL': true,
  'CLUSTER-IPS': true,
  'FIREWALL': true,
  'REJECT': true,
}

function prefixOf(table: string): string {
  const [, slot] = /^k8ts(\d{0,2})-proxy$/.exec(table) ?? []
  return `KUBE${slot ?? digest(table).slice(0, 3).toLowerCase()}`
}

/** Five bits in each character. */
function digest(text: string): string {
  const bytes = hash('sha256', text, 'buffer')
  return [0, 5]
    .map(at => bytes.readUIntBE(at, 5).toString(32).padStart(8, '0'))
    .join('')
    .toUpperCase()
}
