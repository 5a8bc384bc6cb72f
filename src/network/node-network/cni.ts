/** The CNI configuration of a node, and the cleanup of what CNI plugins leave behind. */

export interface CniConfigurationOptions {
  readonly name: string
  readonly podCidrs: readonly string[]
  readonly addressFolder: string
  /** MTU of the pods; that of a veth pair when absent. */
  readonly mtu?: number | undefined
}

/**
 * `ipMasq` is off: the plugin would also masquerade traffic between pods, so nftables rules masquerade what
 * leaves the cluster. The container runtime configures the loopback interface.
 */
export function cniConfiguration({ name, podCidrs, addressFolder, mtu }: CniConfigurationOptions): string {
  const families = [...new Set(podCidrs.map(cidr => (cidr.includes(':') ? '::/0' : '0.0.0.0/0')))]
  const ptp = {
    type: 'ptp',
    ipMasq: false,
    ...(mtu !== undefined && { mtu }),
    ipam: {
      type: 'host-local',
      dataDir: addressFolder,
      ranges: podCidrs.map(subnet => [{ subnet }]),
      routes: families.map(dst => ({ dst })),
    },
  }
  const portmap = { type: 'portmap', capabilities: { portMappings: true }, snat: true }
  return `${JSON.stringify({ cniVersion: '1.0.0', name, plugins: [ptp, portmap] }, undefined, 2)}\n`
}

/**
 * Selects the cached CNI results of pods of a network. File names contain network, sandbox and interface; the
 * loopback interface of each sandbox is a separate network with the same name in all clusters.
 */
export function planCniResultCleanup(names: readonly string[], network: string): readonly string[] {
  const sandboxes = new Set(names.flatMap(name => (name.startsWith(`${network}-`) ? [sandboxOf(name)] : [])))
  return names.filter(name => {
    return name.startsWith(`${network}-`) || (name.startsWith(loopback) && sandboxes.has(sandboxOf(name)))
  })
}

const loopback = 'cni-loopback-'

function sandboxOf(name: string): string {
  return name.split('-').at(-2) ?? ''
}

/**
 * Plans the removal of host port rules of a network, which killed pods leave behind. `rules` are the lines of
 * `iptables -t nat -S`; returns lines for `iptables-restore`, which applies them atomically.
 */
export function planHostPortRemoval(rules: readonly string[], network: string): readonly string[] {
  const mark = String.raw` --comment "dnat name: \"${network}\" id: `
  const own = rules.filter(rule => rule.startsWith('-A CNI-HOSTPORT-DNAT ') && rule.includes(mark))
  const chains = [...new Set(own.flatMap(rule => / -j (CNI-DN-\S+)$/.exec(rule)?.[1] ?? []))]
  return [
    ...own.map(deletionOf),
    ...chains.map(chain => `-F ${chain}`),
    ...chains.map(chain => `-X ${chain}`),
  ]
}

/**
 * Plans the removal of the portmap plugin's own chains, which it leaves behind. They are shared by all its
 * users, so they are removed only when there are no port mappings; the plugin recreates them when needed. The
 * chain with the mappings is not flushed, so that a concurrently added mapping makes the whole transaction
 * fail.
 */
export function planHostPortCleanup(rules: readonly string[]): readonly string[] {
  const chains = rules.filter(rule => rule.startsWith('-N CNI-HOSTPORT-')).map(rule => rule.slice(3))
  const isUsed = rules.some(rule => rule.startsWith(`-A ${ports} `) || rule.startsWith('-N CNI-DN-'))
  if (isUsed) return []
  const jumps = rules.filter(rule => / -j CNI-HOSTPORT-/.test(rule) && !rule.startsWith('-A CNI-'))
  return [
    ...jumps.map(deletionOf),
    ...chains.filter(chain => chain !== ports).map(chain => `-F ${chain}`),
    ...chains.map(chain => `-X ${chain}`),
  ]
}

const ports = 'CNI-HOSTPORT-DNAT'

function deletionOf(rule: string): string {
  return rule.replace(/^-A /, '-D ')
}
