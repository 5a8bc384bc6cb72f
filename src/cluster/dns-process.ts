/** The cluster DNS outside of the API server's process: `k8ts dns`, and on further nodes of this machine. */
import type { Client } from '#/client/client.ts'
import type { PassLog } from '#/client/pass-log.ts'
import { ClusterDns } from '#/dns/dns.ts'
import { DnsEndpoint } from '#/dns/dns-endpoint.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'

export interface DnsProcessOptions {
  readonly platform: Platform
  /** Authenticated as the service account `kube-system/coredns`. */
  readonly client: Client
  readonly nodeName: string
  /** Address of the node. */
  readonly address: string
  readonly port: number
  /** Cluster IPs of the DNS service. */
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** Names outside of the cluster are forwarded to the servers of this file. */
  readonly resolvConf: string
  /** Replaces servers of this file with loopback addresses, which a network namespace does not reach. */
  readonly loopbackUpstream?: string
  /** Time for which queries are still answered after the endpoint is gone, as by the plugin `health` of CoreDNS. */
  readonly lameDuckMs: number
  readonly version: string
  readonly usage: () => ProcessUsage
  readonly passes?: PassLog | undefined
  readonly onProgress: (text: string) => void
}

/** Runs until aborted. Rejects when the address is in use. */
export async function runDns(options: DnsProcessOptions, signal: AbortSignal): Promise<void> {
  const { platform, client, nodeName, address, port, loopbackUpstream, lameDuckMs, onProgress } = options
  const dns = new ClusterDns({
    ...options,
    domain: options.clusterDomain,
    listen: [{ host: address, port }],
    nameServers: options.clusterDns,
    metricsAddress: address,
    upstream: { resolvConf: options.resolvConf, ...(loopbackUpstream && { loopbackUpstream }) },
  })
  const stopping = new AbortController()
  const serving = dns.run(stopping.signal)
  const endpoint = new DnsEndpoint({ platform, client, nodeName, address, port })
  try {
    await dns.boundAddresses
    onProgress(`DNS server listens at ${address} port ${port}`)
    const publishing = publish(dns, endpoint, signal)
    await Promise.race([publishing, serving])
    if (endpoint.wasPublished) await platform.clock.sleep(lameDuckMs)
  } finally {
    stopping.abort(new Error('the DNS server stops'))
    await serving.catch(() => undefined)
  }
}

/** Not before it can answer. */
async function publish(dns: ClusterDns, endpoint: DnsEndpoint, signal: AbortSignal): Promise<void> {
  try {
    await dns.waitForSync(signal)
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  await endpoint.run(signal)
}
