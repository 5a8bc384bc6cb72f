/**
 * The network of one node: the cluster's bridge with the node's address unless the node has a link already, IP
 * forwarding, and masquerading of traffic that leaves the cluster. Each pod has a veth pair and all its packets are
 * routed by the node, so that services and network policies see all of them and source addresses are preserved.
 *
 * An nftables table cannot accept packets that another table drops. Where an iptables chain drops forwarded
 * packets by default, as with Docker, rules that accept the cluster's traffic are added to it.
 *
 * All operations are idempotent, and `remove` removes everything except the IP forwarding sysctl.
 */
import { nftFault } from '#/nftables/nft-fault.ts'
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'
import type { NodeAddressing } from './cluster-network.ts'
import { hasBridge, ensureBridge, type NetworkSlot } from './network-slot.ts'
import { removeCniFiles, type CniFolders } from './cni-files.ts'
import { planHostPortCleanup, planHostPortRemoval } from './node-network/cni.ts'
import {
  planForwarding,
  planForwardingRemoval,
  masqueradeTable,
  planIptablesMasquerade,
  planIptablesMasqueradeRemoval,
} from './node-network/packet-filter.ts'

export interface NodeNetworkOptions {
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  readonly files: Files
  readonly network: NodeAddressing
  /** The slot whose bridge is the node's link; absent if the node has a link already. */
  readonly claim?: NetworkSlot
  readonly folders: CniFolders
}

export class NodeNetwork {
  readonly #options: NodeNetworkOptions

  constructor(options: NodeNetworkOptions) {
    this.#options = options
  }

  /**
   * Sets up everything except the CNI configuration. Throws Error when the slot's bridge belongs to another
   * cluster.
   */
  async ensure(): Promise<void> {
    const { linux, network, claim } = this.#options
    if (claim) await this.#ensureBridge(claim)
    await setSwitches(linux, network.podCidrs)
    await this.#masquerade()
    await this.#changeIptables(planForwarding)
  }

  /** With iptables where `nft` cannot work; a service proxy does the same and reports it. */
  async #masquerade(): Promise<void> {
    const { linux, network, claim } = this.#options
    try {
      await linux.run(['nft', '-f', '-'], { stdin: masqueradeTable(network, claim?.bridgeAddress) })
    } catch (error) {
      if (nftFault(error) === undefined) throw error
      for (const [program, family] of [['iptables', 4] as const, ['ip6tables', 6] as const])
        await this.#changeNat(program, rules => planIptablesMasquerade(rules, network, family))
    }
  }

  async #ensureBridge(claim: NetworkSlot): Promise<void> {
    const { linux, network } = this.#options
    if (!(await ensureBridge(linux, claim)))
      throw new Error(`bridge ${network.bridge} is in use by another cluster: stop it first`)
    await linux.run(['ip', '-batch', '-'], { stdin: bridgeCommands(network) })
  }

  /** Must be called after all pods are gone. */
  async remove(): Promise<void> {
    const { linux, files, network, claim, folders } = this.#options
    await removeNftablesTables(linux, network.tables.network)
    await this.#changeIptables(planForwardingRemoval)
    for (const program of ['iptables', 'ip6tables']) await this.#removeHostPorts(program)
    if (claim && (await hasBridge(linux, claim)))
      await linux.run(['ip', 'link', 'delete', 'dev', network.bridge])
    await removeCniFiles({ files, name: network.bridge, folders })
  }

  async #changeIptables(
    plan: (rules: readonly string[], network: NodeAddressing) => readonly (readonly string[])[],
  ): Promise<void> {
    const { linux, network } = this.#options
    const iptables = ['iptables', '-w', '-t', 'filter']
    const rules = await this.#rules(iptables)
    for (const change of plan(rules, network)) await linux.run([...iptables, ...change])
  }

  async #removeHostPorts(program: string): Promise<void> {
    const { network } = this.#options
    await this.#changeNat(program, rules => planIptablesMasqueradeRemoval(rules, network))
    await this.#changeNat(program, rules => planHostPortRemoval(rules, network.bridge))
    // Fails if another user of the port mapping plugin adds a rule concurrently; the chains are then kept.
    await this.#changeNat(program, planHostPortCleanup).catch(() => undefined)
  }

  async #changeNat(program: string, plan: (rules: readonly string[]) => readonly string[]): Promise<void> {
    const changes = plan(await this.#rules([program, '-w', '-t', 'nat']))
    if (changes.length === 0) return
    const stdin = ['*nat', ...changes, 'COMMIT', ''].join('\n')
    await this.#options.linux.run([`${program}-restore`, '-w', '--noflush'], { stdin })
  }

  async #rules(iptables: readonly string[]): Promise<readonly string[]> {
    try {
      return (await this.#options.linux.run([...iptables, '-S'])).split('\n')
    } catch (error) {
      // Without iptables there are no rules.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }
}

/**
 * The route to the service CIDRs lets the machine itself reach services, with a source address, even without
 * a default route. No packet is sent along it: all are translated or dropped before.
 */
function bridgeCommands({ bridge, nodeCidr = '/32', nodeAddress, serviceCidrs }: NodeAddressing): string {
  const prefixLength = nodeCidr.slice(nodeCidr.indexOf('/'))
  const ipv4Services = serviceCidrs.filter(cidr => !cidr.includes(':'))
  return [
    `link set dev ${bridge} up`,
    `address replace ${nodeAddress}${prefixLength} dev ${bridge}`,
    ...ipv4Services.map(cidr => `route replace ${cidr} dev ${bridge} src ${nodeAddress}`),
    '',
  ].join('\n')
}

/**
 * Runs a command in the node's network namespace, since `/proc/sys/net` of this process may belong to another
 * one.
 */
async function setSwitches(linux: Pick<Linux, 'run'>, podCidrs: readonly string[]): Promise<void> {
  const switches = ['net/ipv4/ip_forward=1']
  if (podCidrs.some(cidr => cidr.includes(':'))) {
    // Disables duplicate address detection, which delays the start of pods: their addresses are unique.
    switches.push('net/ipv6/conf/all/forwarding=1', 'net/ipv6/conf/default/accept_dad=0')
  }
  const script = 'for each; do echo "${each#*=}" > "/proc/sys/${each%%=*}" || exit; done'
  await linux.run(['sh', '-c', script, 'sh', ...switches])
}
