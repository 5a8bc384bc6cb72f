export interface CniConfigurationOptions {
  readonly name: string
  readonly podCidrs: readonly string[]
  readonly addressFolder: string
}

/**
 * `ipMasq` is off: the plugin would also masquerade traffic between pods, so nftables rules masquerade what
 * leaves the cluster. The container runtime configures the loopback interface.
 */
export function cniConfiguration({ name, podCidrs, addressFolder }: CniConfigurationOptions): string {
  const families = [...new Set(podCidrs.map(cidr => (cidr.includes(':') ? '::/0' : '0.0.0.0/0')))]
  const ptp = {
    type: 'ptp',
    ipMasq: false,
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
