export interface CniConfigurationOptions {
  readonly name: string
  readonly podCidrs: readonly string[]
  readonly addressFolder: string
}

/**
 * What leaves the cluster gets the node's address by our own rules and not by the plugin's, which would hide the
 * addresses of pods from each other too. The loopback interface is the container runtime's own affair.
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
