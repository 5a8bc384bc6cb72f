/**
 * The network of one node: the cluster's bridge with the node's address, forwarding, source addresses for what leaves
 * the cluster, and the configuration with which the container runtime gives pods their addresses. Pods are connected
 * to the node by a pair of interfaces each and every packet of theirs is routed by the node, so that services and
 * policies see all of it and clients keep their addresses.
 *
 * Whoever drops forwarded packets elsewhere on the machine wins: an own table cannot overrule another one. Where a
 * chain of iptables drops what it does not know, as docker's does, the cluster's pods are made known to it.
 *
 * Everything may be done again, and `remove` leaves nothing behind but the switch that lets the machine forward.
 */
import { join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'
import type { ClusterNetwork } from './cluster-network.ts'
import { hasBridge, takeBridge, type NetworkSlot } from './network-slot.ts'
import { cniConfiguration } from './node-network/cni-configuration.ts'
import { planForwarding, planNoForwarding } from './node-network/forwarding.ts'
import { masqueradeTable, noMasqueradeTable } from './node-network/masquerade.ts'
import { planPortMappingCleanup, planPortMappingRemoval } from './node-network/port-mappings.ts'
import { planResultCleanup } from './node-network/results.ts'

export interface NodeNetworkOptions {
  /** Its commands run where the node's network is. */
  readonly linux: Pick<Linux, 'run'>
  readonly files: Files
  readonly network: ClusterNetwork
  readonly claim: NetworkSlot
  readonly folders: {
    /** For the configuration of the pod network, where the container runtime looks for it. */
    readonly configuration: string
    /** For which addresses pods have. */
    readonly addresses: string
  }
}

export class NodeNetwork {
  readonly #options: NodeNetworkOptions

  constructor(options: NodeNetworkOptions) {
    this.#options = options
  }

  /** All but the configuration for pods. Throws Error when the slot's bridge is another cluster's. */
  async ensure(): Promise<void> {
    const { linux, network, claim } = this.#options
    if (!(await takeBridge(linux, claim))) {
      const wayOut = 'stop that cluster before you start this one'
      throw new Error(`the network ${network.bridge} of this cluster is in use by another one: ${wayOut}`)
    }
    await linux.run(['ip', '-batch', '-'], { stdin: bridgeCommands(network) })
    await setSwitches(linux, network.podCidrs)
    await linux.run(['nft', '-f', '-'], { stdin: masqueradeTable(network) })
    await this.#changeIptables(planForwarding)
  }

  /** The pods of this node get addresses of these ranges from now on: what `spec.podCIDRs` of the node says. */
  async ensurePodNetwork(podCidrs: readonly string[]): Promise<void> {
    const { files, network, folders } = this.#options
    await files.makeFolder(folders.configuration)
    await files.makeFolder(folders.addresses)
    const path = join(folders.configuration, configurationName)
    const content = cniConfiguration({ name: network.bridge, podCidrs, addressFolder: folders.addresses })
    const before = (await files.stat(path)) && Buffer.from(await files.read(path)).toString()
    // The runtime reads its configuration anew whenever the file changes.
    if (before !== content) await files.write(path, content)
  }

  /** Once no pod is left. */
  async remove(): Promise<void> {
    const { linux, files, network, claim, folders } = this.#options
    await linux.run(['nft', '-f', '-'], { stdin: noMasqueradeTable(network) })
    await this.#changeIptables(planNoForwarding)
    for (const program of ['iptables', 'ip6tables']) await this.#removePortMappings(program)
    if (await hasBridge(linux, claim)) await linux.run(['ip', 'link', 'delete', 'dev', network.bridge])
    await files.remove(join(folders.configuration, configurationName))
    await files.remove(folders.addresses)
    await this.#removeResults()
  }

  /** Pods that are removed properly take theirs with them; those that are killed do not. */
  async #removeResults(): Promise<void> {
    const { files, network } = this.#options
    const names = await files.list(resultFolder).catch(() => [])
    for (const name of planResultCleanup(names, network.bridge)) await files.remove(join(resultFolder, name))
  }

  async #changeIptables(
    plan: (rules: readonly string[], network: ClusterNetwork) => readonly (readonly string[])[],
  ): Promise<void> {
    const { linux, network } = this.#options
    const iptables = ['iptables', '-w', '-t', 'filter']
    const rules = await this.#rules(iptables)
    for (const change of plan(rules, network)) await linux.run([...iptables, ...change])
  }

  async #removePortMappings(program: string): Promise<void> {
    const { linux, network } = this.#options
    const change = async (plan: (rules: readonly string[]) => readonly string[]): Promise<void> => {
      const changes = plan(await this.#rules([program, '-w', '-t', 'nat']))
      if (changes.length === 0) return
      const stdin = ['*nat', ...changes, 'COMMIT', ''].join('\n')
      await linux.run([`${program}-restore`, '-w', '--noflush'], { stdin })
    }
    await change(rules => planPortMappingRemoval(rules, network.bridge))
    // Whoever begins to use these chains at this moment keeps them.
    await change(planPortMappingCleanup).catch(() => undefined)
  }

  async #rules(iptables: readonly string[]): Promise<readonly string[]> {
    try {
      return (await this.#options.linux.run([...iptables, '-S'])).split('\n')
    } catch (error) {
      // Without iptables nobody has rules in it.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }
}

const configurationName = '10-k8ts.conflist'

/** Where the library that calls plugins remembers what they said, for everybody on the machine. */
const resultFolder = '/var/lib/cni/results'

/**
 * The route to the services gives the machine itself a way to them, and a source address, also where it has no default
 * route. Nothing is ever sent along it: packets have other addresses, or are dropped, before.
 */
function bridgeCommands({ bridge, nodeCidr, nodeAddress, serviceCidrs }: ClusterNetwork): string {
  const prefixLength = nodeCidr.slice(nodeCidr.indexOf('/'))
  const ipv4Services = serviceCidrs.filter(cidr => !cidr.includes(':'))
  return [
    `link set dev ${bridge} up`,
    `address replace ${nodeAddress}${prefixLength} dev ${bridge}`,
    ...ipv4Services.map(cidr => `route replace ${cidr} dev ${bridge} src ${nodeAddress}`),
    '',
  ].join('\n')
}

/** In the node's network, which the files of another process would not be of. */
async function setSwitches(linux: Pick<Linux, 'run'>, podCidrs: readonly string[]): Promise<void> {
  const switches = ['net/ipv4/ip_forward=1']
  if (podCidrs.some(cidr => cidr.includes(':'))) {
    // Otherwise each pod waits until it is sure that nobody else has its address, which nobody can have.
    switches.push('net/ipv6/conf/all/forwarding=1', 'net/ipv6/conf/default/accept_dad=0')
  }
  const script = 'for each; do echo "${each#*=}" > "/proc/sys/${each%%=*}" || exit; done'
  await linux.run(['sh', '-c', script, 'sh', ...switches])
}
