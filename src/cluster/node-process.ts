/**
 * A node in a process of its own: `k8ts node run`. It runs in the network namespace of the node, whose link and
 * address exist, and reaches the API server by `kubelet.conf` in its folder, or bootstraps it.
 */
import { join } from 'node:path'
import { formatCidr, parseCidr } from '#/api/net/cidr.ts'
import { onAbort, untilAborted } from '#/base/abort.ts'
import type { Backoff } from '#/base/backoff.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { PassLog } from '#/client/pass-log.ts'
import { RestClientMetrics } from '#/client/rest-client-metrics.ts'
import { retryUntilDone } from '#/component-base/retry-until-done.ts'
import { registryFolder } from '#/cri/private-containerd.ts'
import { ensureRegistryMirrors, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import type { NodeAddressing } from '#/network/cluster-network.ts'
import { findNodeLink } from '#/network/node-link.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { isHandOver } from '#/platform/hand-over.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProxyMode } from '#/proxy/proxier.ts'
import { NodeAgent, type StartNodeAgent } from './node-agent.ts'
import type { NodeMachine } from './node-kubelet.ts'
import { runDns } from './dns-process.ts'
import { connectKubelet } from './kubelet-connection.ts'
import { nodeFolders } from './node-folders.ts'
import { podNetworkOf, proxyNetworkOf } from './node-networks.ts'
import { requireKubeconfig } from './proxy-credentials.ts'
import { protectFromOutOfMemory } from './protect-from-out-of-memory.ts'

export interface NodeProcessOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: NodeMachine
  /** Folder of the node: credentials, container runtime, volumes. */
  readonly folder: string
  readonly name: string
  /** An address of the machine. */
  readonly address: string
  readonly podCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
  readonly dnsAddress: string
  /** Address of a DNS server that replaces loopback addresses in the machine's resolv.conf. */
  readonly dnsUpstream?: string
  readonly cgroupRoot: string
  /** Name of the CNI network and prefix of the nftables tables; unique on the machine. */
  readonly networkName: string
  /** The VNI of the pod network, the same on all nodes of the cluster. */
  readonly vxlanId: number
  readonly registryMirrors: readonly RegistryMirror[]
  readonly proxyMode?: ProxyMode | undefined
  readonly version: string
  readonly onProgress: (text: string) => void
}

/** Runs until aborted. Containers are stopped then, unless it hands over; their pods are restarted with the node. */
export async function runNode(options: NodeProcessOptions, signal: AbortSignal): Promise<void> {
  const { platform, linux, folder, cgroupRoot, registryMirrors } = options
  const folders = nodeFolders(folder)
  const { files } = platform
  await ensureRegistryMirrors({
    files,
    folder: registryFolder(folders.containerd),
    mirrors: registryMirrors,
  })
  await protectFromOutOfMemory({ platform, linux, cgroupRoot })
  const network = await readAddressing(options)
  const nodeNetwork = new NodeNetwork({
    linux,
    files,
    network,
    folders: { configuration: folders.cni, addresses: folders.addresses },
  })
  const kubelet = kubeletConfiguration({
    name: options.name,
    addresses: [options.address],
    rootDirectory: folders.kubelet,
    staticPodPath: folders.manifests,
    cgroupRoot,
    clusterDNS: [options.dnsAddress],
  })
  const passes = new PassLog()
  await using agent = new NodeAgent({
    ...options,
    passes,
    folders,
    kubelet,
    address: options.address,
    nodeNetwork,
    networkName: network.bridge,
    proxyNetwork: proxyNetworkOf(network),
    policyTable: network.tables.policy,
    podNetwork: podNetworkOf(network, { vni: options.vxlanId }),
  })
  onAbort(signal, () => {
    if (isHandOver(signal)) agent.keepContainers()
  })
  await nodeNetwork.ensure()
  await using connections = await connectToCluster(options, signal)
  await agent.start(connections.start)
  await using _dns = startDns({ ...options, kubelet, passes }, connections.dns)
  await agent.synced
  await untilAborted(signal)
}

/** The connections of the node to the API server, and what the components need to use them. */
async function connectToCluster(
  options: NodeProcessOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable & { readonly start: StartNodeAgent; readonly dns: Client }> {
  const { platform, folder, machine, name, address } = options
  const opened = new AsyncDisposableStack()
  const { start } = opened.use(
    await connectKubelet(
      {
        ...options,
        nodeName: name,
        names: [name, address],
        kubeconfig: join(folder, 'kubelet.conf'),
        bootstrapKubeconfig: join(folder, 'bootstrap-kubelet.conf'),
        certificates: join(folder, 'pki'),
        clientCaFile: join(folder, 'pki/ca.crt'),
      },
      signal,
    ),
  )
  // The service proxy and the pod network have an identity of their own, with more rights to read than a node.
  const settings = await requireKubeconfig(platform, join(folder, 'kube-proxy.conf'))
  const connect = machine.connectHttp
  const transport = opened.use(await openConnection({ platform, connect, settings }))
  const { client: kubelet, ...given } = start
  const proxy = (registry: MetricsRegistry): Client => {
    const metrics = new RestClientMetrics(registry).forHost(new URL(settings.server).host)
    return clientOf({ platform, transport, userAgent: 'kube-proxy', metrics })
  }
  const dnsSettings = await requireKubeconfig(platform, join(folder, 'dns.conf'))
  const dnsTransport = opened.use(await openConnection({ platform, connect, settings: dnsSettings }))
  return {
    start: { ...given, clients: { kubelet, proxy } },
    dns: clientOf({ platform, transport: dnsTransport, userAgent: 'coredns' }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

interface NodeDnsOptions extends NodeProcessOptions {
  readonly kubelet: KubeletConfiguration
  readonly passes: PassLog
}

const dnsBackoff: Backoff = { initialMs: 1_000, maxMs: 30_000, factor: 2, jitter: 0.1 }

/** The DNS server of the node. The pods of a node without one use those of the other nodes. */
function startDns(options: NodeDnsOptions, client: Client): AsyncDisposable {
  const { platform, kubelet, name, address, dnsAddress, dnsUpstream } = options
  const stopping = new AbortController()
  const dns = {
    ...options,
    client,
    nodeName: name,
    port: 53,
    clusterDns: [dnsAddress],
    clusterDomain: kubelet.clusterDomain,
    resolvConf: kubelet.resolvConf,
    ...(dnsUpstream !== undefined && { loopbackUpstream: dnsUpstream }),
    // The pods of the node stop, too.
    lameDuckMs: 0,
    usage: options.machine.usage,
  }
  const onFailure = (error: unknown): void =>
    platform.log.error('DNS server of the node failed, will retry', { address, error })
  const { signal } = stopping
  const retries = { platform, backoff: dnsBackoff, onFailure }
  const running = retryUntilDone(() => runDns(dns, signal), retries, signal).catch(() => undefined)
  return {
    [Symbol.asyncDispose]: () => {
      stopping.abort()
      return running
    },
  }
}

/** Rejects when the machine does not have the address. */
async function readAddressing(options: NodeProcessOptions): Promise<NodeAddressing> {
  const { linux, address, podCidrs, serviceCidrs, dnsAddress, networkName } = options
  const { prefixLength } = await findNodeLink(linux, address)
  return {
    bridge: networkName,
    nodeCidr: formatCidr(parseCidr(`${address}/${prefixLength}`)!),
    nodeAddress: address,
    podCidrs,
    serviceCidrs,
    dnsAddress,
    tables: {
      proxy: `${networkName}-proxy`,
      policy: `${networkName}-policy`,
      network: `${networkName}-network`,
    },
  }
}
