/**
 * The service proxy and the pod network of a node as a process of its own: `k8ts proxy`. The rules remain when it
 * stops, and the next one replaces them.
 */
import { untilAborted } from '#/base/abort.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { RestClientMetrics } from '#/client/rest-client-metrics.ts'
import { rateLimitedTransport } from '#/client/rate-limited-transport.ts'
import type { BucketLimits } from '#/base/token-bucket.ts'
import { retryUntilDone } from '#/component-base/retry-until-done.ts'
import { removeCniFiles } from '#/network/cni-files.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { removePodNetwork, type PodNetworkSettings } from '#/network/pod-network.ts'
import { removeAnnouncedAddresses } from '#/network/remove-announced-addresses.ts'
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  applyConntrackSysctls,
  planConntrackSysctls,
  type ConntrackSettings,
} from '#/proxy/conntrack-sysctls.ts'
import type { ProxyMode, ProxyNetwork } from '#/proxy/proxier.ts'
import { removeServiceRules } from '#/proxy/proxy-modes.ts'
import type { ProxyServers } from '#/proxy/proxy-server.ts'
import type { NodeMachine } from './node-kubelet.ts'
import { nodeFolders } from './node-folders.ts'
import { hostNetwork, podNetworkOf, proxyNetworkOf } from './node-networks.ts'
import { NodeProxy } from './node-proxy.ts'
import { ensureProxyCredentials, requireKubeconfig } from './proxy-credentials.ts'

export interface ProxyProcessOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: Pick<NodeMachine, 'connectHttp' | 'crypto' | 'usage'>
  /** Folder of the host. */
  readonly folder: string
  readonly nodeName: string
  readonly kubeconfig: string
  /** Of the kubelet, which requests the certificate of the proxy; the kubeconfig is used as it is when absent. */
  readonly bootstrapKubeconfig: string | undefined
  /** Folder of the certificate. */
  readonly certificates: string
  /** Pod CIDRs of the cluster. */
  readonly podCidrs: readonly string[]
  readonly podNetwork: PodNetworkSettings['backend'] | 'none'
  /** True if only the pods of this node are known to be pods: `detectLocalMode: NodeCIDR`. */
  readonly detectsLocalByNode: boolean
  /** The VNI of the pod network, the same on all nodes of the cluster. */
  readonly vxlanId: number
  readonly nodePortAddresses: readonly string[] | undefined
  readonly mode: ProxyMode
  readonly conntrack: ConntrackSettings
  readonly servers: (nodeAddress: string) => ProxyServers
  readonly requestLimits?: BucketLimits | undefined
  readonly onProgress: (text: string) => void
}

/** Runs until aborted. */
export async function runProxy(options: ProxyProcessOptions, signal: AbortSignal): Promise<void> {
  try {
    await run(options, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function run(options: ProxyProcessOptions, signal: AbortSignal): Promise<void> {
  const { platform, linux, machine, nodeName, podCidrs, podNetwork, vxlanId, servers } = options
  const credentials = await proxyCredentials(options, signal)
  const renewing = credentials.run(signal)
  const { connectHttp: connect, usage } = machine
  await using transport = await openConnection({ platform, connect, settings: credentials.settings })
  const { host } = new URL(credentials.settings.server)
  const { requestLimits: limits } = options
  const limited = limits ? rateLimitedTransport(transport, platform.clock, limits) : transport
  const client = (registry: MetricsRegistry): Client => {
    const metrics = new RestClientMetrics(registry).forHost(host)
    return clientOf({ platform, transport: limited, userAgent: 'kube-proxy', metrics })
  }
  const reading = clientOf({ platform, transport, userAgent: 'kube-proxy' })
  const cluster = await readCluster(options, reading, signal)
  const nodeNetwork = podNetwork === 'none' ? undefined : nodeNetworkOf(options, cluster.nodeAddress)
  await nodeNetwork?.ensure()
  const network = { ...hostNetwork, ...cluster, podCidrs, dnsAddress: '' }
  const sysctls = planConntrackSysctls(options.conntrack, linux.machine.processors)
  await applyConntrackSysctls({ linux, log: platform.log }, sysctls)
  await using proxy = new NodeProxy({
    platform,
    linux,
    usage,
    nodeName,
    proxyNetwork: planProxyNetwork(options, cluster),
    // Another CNI plugin enforces network policies itself.
    policyTable: podNetwork === 'none' ? undefined : hostNetwork.tables.policy,
    proxyMode: options.mode,
    servers: servers(cluster.nodeAddress),
    nodeNetwork,
    podNetwork:
      podNetwork === 'none' ? undefined : podNetworkOf(network, { vni: vxlanId, backend: podNetwork }),
  })
  proxy.start(client)
  void proxy.synced.then(() => options.onProgress(`service proxy of node ${nodeName} has synced its rules`))
  await untilAborted(signal)
  await renewing
}

function planProxyNetwork(
  { podCidrs, detectsLocalByNode, nodePortAddresses }: ProxyProcessOptions,
  cluster: ProxiedCluster,
): ProxyNetwork {
  const network = proxyNetworkOf({ ...hostNetwork, ...cluster, podCidrs, dnsAddress: '' })
  return {
    ...network,
    nodeAddresses: cluster.nodeAddresses,
    ...(detectsLocalByNode && { podCidrs: cluster.nodePodCidrs }),
    ...(nodePortAddresses && { nodePortAddresses }),
  }
}

/** Removes the network of a stopped host from the machine, with what CNI plugins have left behind. */
export async function removeHostNetwork(
  options: HostNetworkOptions,
  cniNetwork: HostCniNetwork,
): Promise<void> {
  await cleanUpProxy(options)
  const { cni, addresses } = nodeFolders(options.folder)
  const { name, cniFolder: configuration = cni } = cniNetwork
  const { files } = options.platform
  await removeCniFiles({ files, name, folders: { configuration, addresses } })
}

interface HostCniNetwork {
  readonly name: string
  /** Of a container runtime that is not private; that of the folder when absent. */
  readonly cniFolder: string | undefined
}

/** Removes the rules and the pod network of a stopped proxy from the machine. */
export async function cleanUpProxy({ platform, linux, folder, podCidrs }: HostNetworkOptions): Promise<void> {
  const { proxy, policy } = hostNetwork.tables
  await removeServiceRules(linux, proxy)
  await removeNftablesTables(linux, policy)
  await removeAnnouncedAddresses(linux, proxy)
  await removePodNetwork(linux, podNetworkOf({ ...hostNetwork, podCidrs }, { vni: 1 }))
  await nodeNetworkOf({ platform, linux, folder, podCidrs }, '').remove()
}

type HostNetworkOptions = Pick<ProxyProcessOptions, 'platform' | 'linux' | 'folder' | 'podCidrs'>

function nodeNetworkOf(
  { platform, linux, folder, podCidrs }: HostNetworkOptions,
  nodeAddress: string,
): NodeNetwork {
  const { cni, addresses } = nodeFolders(folder)
  return new NodeNetwork({
    linux,
    files: platform.files,
    network: { ...hostNetwork, nodeAddress, podCidrs, serviceCidrs: [], dnsAddress: '' },
    folders: { configuration: cni, addresses },
  })
}

interface Credentials {
  readonly settings: ConnectionSettings
  readonly run: (signal: AbortSignal) => Promise<void>
}

async function proxyCredentials(options: ProxyProcessOptions, signal: AbortSignal): Promise<Credentials> {
  const { platform, machine, bootstrapKubeconfig, certificates: folder } = options
  if (bootstrapKubeconfig === undefined)
    return { settings: await requireKubeconfig(platform, options.kubeconfig), run: async () => undefined }
  const { crypto, connectHttp: connect } = machine
  return ensureProxyCredentials({ ...options, bootstrapKubeconfig, crypto, connect, folder }, signal)
}

interface ProxiedCluster {
  /** The primary address. */
  readonly nodeAddress: string
  readonly nodeAddresses: readonly string[]
  readonly nodePodCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
}

/** Waits for them: the node and the service CIDRs exist soon after the kubelet and the API server have started. */
async function readCluster(
  { platform, nodeName: name, detectsLocalByNode }: ProxyProcessOptions,
  client: Client,
  signal: AbortSignal,
): Promise<ProxiedCluster> {
  const attempt = async (): Promise<ProxiedCluster> => {
    const node = await client.get(nodes, { name }, { signal })
    const internal = (node.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP')
    const nodeAddresses = internal.map(({ address }) => address)
    const [nodeAddress] = nodeAddresses
    if (nodeAddress === undefined) throw new Error(`node ${name} has no InternalIP yet`)
    const nodePodCidrs = node.spec?.podCIDRs ?? []
    if (detectsLocalByNode && nodePodCidrs.length === 0) throw new Error(`node ${name} has no pod CIDR yet`)
    const { items } = await client.list(serviceCIDRs, { signal })
    if (items.length === 0) throw new Error('there is no ServiceCIDR yet')
    const ranges = items.flatMap(({ spec }) => spec?.cidrs ?? [])
    return { nodeAddress, nodeAddresses, nodePodCidrs, serviceCidrs: ranges }
  }
  const onFailure = (error: unknown, failures: number): void => {
    if (failures > quietFailures)
      platform.log.warn('Failed to retrieve node info, will retry', { node: name, error })
  }
  return retryUntilDone(attempt, { platform, backoff, onFailure }, signal)
}

const backoff = { initialMs: 200, maxMs: 5_000, factor: 2, jitter: 0.1 }
const quietFailures = 5
