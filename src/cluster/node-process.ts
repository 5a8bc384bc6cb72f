/**
 * A node in a process of its own: `k8ts node run`. It runs in the network namespace of the node, whose link and
 * address exist, and reaches the API server by `kubelet.conf` in its folder, or bootstraps it.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { formatCidr, parseCidr } from '#/api/net/cidr.ts'
import { onAbort } from '#/base/abort.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { RestClientMetrics } from '#/client/rest-client-metrics.ts'
import { registryFolder } from '#/cri/private-containerd.ts'
import { ensureRegistryMirrors, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import { kubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import type { NodeAddressing } from '#/network/cluster-network.ts'
import { findNodeLink } from '#/network/node-link.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { isHandOver } from '#/platform/hand-over.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { NodeAgent, type StartNodeAgent } from './node-agent.ts'
import type { NodeMachine } from './node-kubelet.ts'
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
  readonly cgroupRoot: string
  /** Name of the CNI network and prefix of the nftables tables; unique on the machine. */
  readonly networkName: string
  /** The VNI of the pod network, the same on all nodes of the cluster. */
  readonly vxlanId: number
  readonly registryMirrors: readonly RegistryMirror[]
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
  await using agent = new NodeAgent({
    ...options,
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
  await agent.synced
  if (!signal.aborted) await once(signal, 'abort')
}

/** The connections of the node to the API server, and what the components need to use them. */
async function connectToCluster(
  options: NodeProcessOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable & { readonly start: StartNodeAgent }> {
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
  return {
    start: { ...given, clients: { kubelet, proxy } },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
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
