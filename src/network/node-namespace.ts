/**
 * The network namespace of a further node on this machine, connected to the bridge of the cluster by a veth pair.
 * Everything is idempotent, and the namespace remains when the process of the node ends, with its pods.
 */
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import { formatIp } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { ClusterNetwork } from './cluster-network.ts'

export interface NodeNamespace {
  readonly name: string
  /** Port of the cluster's bridge. */
  readonly port: string
  /** Address of the node, on `eth0` in its namespace. */
  readonly address: string
}

/** Nodes are counted from 1, which is the machine itself. */
export function planNodeNamespace({ bridge, nodeCidr }: ClusterNetwork, node: number): NodeNamespace {
  const ip = nthAddress(parseCidr(nodeCidr)!, node)
  if (ip === undefined) throw new Error(`node CIDR ${nodeCidr} has no address for node ${node}`)
  return { name: `${bridge}-${node}`, port: `${bridge}n${node}`, address: formatIp(ip) }
}

/** Command prefix that runs a command in the namespace. */
export function inNamespace(name: string): readonly string[] {
  return ['nsenter', `--net=/run/netns/${name}`, '--']
}

export async function ensureNodeNamespace(
  linux: Pick<Linux, 'run'>,
  { name, port, address }: NodeNamespace,
  { bridge, nodeCidr, nodeAddress }: ClusterNetwork,
): Promise<void> {
  const prefixLength = nodeCidr.slice(nodeCidr.indexOf('/'))
  await ensureNamespace(linux, name)
  const links = JSON.parse(await linux.run(['ip', '-j', 'link', 'show'])) as readonly { ifname: string }[]
  if (!links.some(({ ifname }) => ifname === port))
    await linux.run(['ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
  await linux.run(['ip', 'link', 'set', port, 'master', bridge, 'up'])
  // With bridge-nf-call-iptables, what arrives for a node port and is translated to an endpoint on the same node leaves
  // through the port by which it came, without being routed.
  await linux.run(['ip', 'link', 'set', port, 'type', 'bridge_slave', 'hairpin', 'on'])
  const commands = [
    'link set dev lo up',
    `address replace ${address}${prefixLength} dev eth0`,
    'link set dev eth0 up',
    `route replace default via ${nodeAddress}`,
    '',
  ]
  await linux.run(['ip', '-netns', name, '-batch', '-'], { stdin: commands.join('\n') })
}

/** Deletes the veth pair, too. No process may run in the namespace. */
export async function removeNodeNamespace(
  linux: Pick<Linux, 'run'>,
  { name, port }: NodeNamespace,
): Promise<void> {
  // First, because the kernel deletes the pair of a deleted namespace some time later.
  const links = JSON.parse(await linux.run(['ip', '-j', 'link', 'show'])) as readonly { ifname: string }[]
  if (links.some(({ ifname }) => ifname === port)) await linux.run(['ip', 'link', 'delete', 'dev', port])
  if (await hasNamespace(linux, name)) await linux.run(['ip', 'netns', 'delete', name])
}

async function ensureNamespace(linux: Pick<Linux, 'run'>, name: string): Promise<void> {
  if (await hasNamespace(linux, name)) {
    try {
      await linux.run(['ip', '-netns', name, 'link', 'show'])
      return
    } catch {
      // `ip netns add` was killed between creating the file and mounting the namespace on it.
      await linux.run(['ip', 'netns', 'delete', name])
    }
  }
  await linux.run(['ip', 'netns', 'add', name])
}

async function hasNamespace(linux: Pick<Linux, 'run'>, name: string): Promise<boolean> {
  const lines = (await linux.run(['ip', 'netns', 'list'])).split('\n')
  return lines.some(line => line.split(' ')[0] === name)
}
