/**
 * This machine as the first node of the cluster, in the process of the control plane: its network slot, the
 * components of a node, and the cluster DNS. Each component has its own identity with only the rights that it
 * would have as a separate process.
 */
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { PassLog } from '#/client/pass-log.ts'
import { registryFolder } from '#/cri/private-containerd.ts'
import { ensureRegistryMirrors, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import { ClusterDns } from '#/dns/dns.ts'
import {
  applyDnsSlice,
  dnsService,
  dnsSliceOf,
  ensureDnsEndpointRole,
  ensureDnsRbac,
  ensureDnsService,
} from '#/dns/ensure-dns.ts'
import { ExpiredDnsEndpoints } from '#/dns/expired-endpoints.ts'
import { renewCertificates } from '#/component-base/renew-certificates.ts'
import type { ClusterCertificates, KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { dnsServer } from '#/kubeadm/identities.ts'
import { ensureKubeletCertificates } from '#/kubeadm/kubelet-certificates.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import {
  planClusterNetwork,
  type ClusterNetwork,
  type ClusterNetworkOverrides,
} from '#/network/cluster-network.ts'
import { claimNetworkSlot, type NetworkSlot } from '#/network/network-slot.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProxyMode } from '#/proxy/proxier.ts'
import type { ControlPlane } from './control-plane.ts'
import { NodeAgent } from './node-agent.ts'
import type { NodeMachine } from './node-kubelet.ts'
import type { NamespacedNodes } from './namespaced-nodes.ts'
import type { LockHolder } from './lock-folder.ts'
import { nodeCgroup, nodeFolders, type NodeFolders } from './node-folders.ts'
import { podNetworkOf, proxyNetworkOf } from './node-networks.ts'
import { protectFromOutOfMemory } from './protect-from-out-of-memory.ts'
import type { SupervisedIngress } from './supervised-ingress.ts'
import type { EndSignal } from './supervised-process.ts'
import { waitForNodesReady } from './wait-for-nodes-ready.ts'

export interface ContainerNodeSettings {
  readonly type: 'containers'
  readonly linux: Linux
  /** Number of nodes, this machine included; the others are network namespaces of it. */
  readonly count: number
  /** The command that runs this program, for the processes of the other nodes. */
  readonly program: readonly string[]
  readonly podCidrs?: readonly string[]
  readonly registryMirrors?: readonly RegistryMirror[]
  /** nftables when absent. */
  readonly proxyMode?: ProxyMode
  /** Without it no Ingresses are served. */
  readonly ingress?: IngressPorts
}

export interface IngressPorts {
  readonly httpPort: number
  readonly httpsPort: number
}

export interface ContainerNodeOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: NodeMachine
  /** Folder of the cluster. */
  readonly folder: string
  readonly choice: ClusterNetworkOverrides
  readonly registryMirrors: readonly RegistryMirror[]
  readonly proxyMode?: ProxyMode | undefined
  readonly count: number
  readonly program: readonly string[]
  readonly ingress: IngressPorts | undefined
  /** The kubelet's version in the node status. */
  readonly version: string
  readonly onProgress: (text: string) => void
}

export interface StartContainerNode {
  readonly controlPlane: Pick<ControlPlane, 'clientAs'>
  /** Has administrator rights. */
  readonly client: Client
  /** URL of the API server at the address of this node. */
  readonly server: string
  readonly certificates: ClusterCertificates
  readonly signal: AbortSignal
}

export class ContainerNode implements AsyncDisposable {
  readonly network: ClusterNetwork
  readonly folders: NodeFolders
  /** Of the service proxy and of DNS. */
  readonly passes = new PassLog()
  readonly #options: ContainerNodeOptions
  readonly #nodeNetwork: NodeNetwork
  readonly #agent: NodeAgent
  readonly #stopping = new AbortController()
  #otherNodes: NamespacedNodes | undefined
  #dns: Promise<unknown> | undefined
  #ingress: SupervisedIngress | undefined
  #servingIngresses: Promise<void> | undefined
  /** Of the processes of the other nodes. */
  #endSignal: EndSignal = 'SIGTERM'

  private constructor(options: ContainerNodeOptions, claim: NetworkSlot) {
    const { platform, linux, folder, choice } = options
    this.#options = options
    this.network = planClusterNetwork(claim.slot, choice)
    this.folders = nodeFolders(folder)
    this.#nodeNetwork = new NodeNetwork({
      linux,
      files: platform.files,
      network: this.network,
      claim,
      folders: { configuration: this.folders.cni, addresses: this.folders.addresses },
    })
    this.#agent = new NodeAgent({
      ...options,
      passes: this.passes,
      folders: this.folders,
      kubelet: this.#settings(),
      address: this.network.nodeAddress,
      nodeNetwork: this.#nodeNetwork,
      networkName: this.network.bridge,
      proxyNetwork: proxyNetworkOf(this.network),
      policyTable: this.network.tables.policy,
      podNetwork: podNetworkOf(this.network, { vni: vxlanIdOf(claim.slot) }),
    })
  }

  /**
   * Resolves when the network is set up, so that servers can listen on the node's address. The container
   * runtime is still starting.
   */
  static async prepare(options: ContainerNodeOptions): Promise<ContainerNode> {
    const { platform, linux, folder, choice, registryMirrors, onProgress } = options
    await ensureRegistryMirrors({
      files: platform.files,
      folder: registryFolder(nodeFolders(folder).containerd),
      mirrors: registryMirrors,
    })
    const claim = await claimNetworkSlot({ linux, files: platform.files, folder, choice })
    await protectFromOutOfMemory({ platform, linux, cgroupRoot: nodeCgroup(claim.slot) })
    const node = new ContainerNode(options, claim)
    await node.#nodeNetwork.ensure()
    const { nodeAddress, podCidrs, serviceCidrs } = node.network
    onProgress(`network: node ${nodeAddress}, pods ${podCidrs.join()}, services ${serviceCidrs.join()}`)
    return node
  }

  /** Resolves when the node is ready. */
  async start(given: StartContainerNode): Promise<void> {
    const { controlPlane, client, certificates, signal } = given
    const { platform, machine, onProgress } = this.#options
    const others = await this.#startOtherNodes(given)
    const { name, addresses } = this.#settings()
    const { ca } = certificates
    const folder = this.folders.certificates
    const kubelet = { platform, crypto: machine.crypto, folder, ca, nodeName: name, addresses }
    const ensure = async (): Promise<KeyAndCertificate> => (await ensureKubeletCertificates(kubelet)).server
    await this.#agent.start({
      clients: {
        kubelet: metrics => controlPlane.clientAs(`system:node:${name}`, ['system:nodes'], metrics),
        proxy: metrics => controlPlane.clientAs('system:kube-proxy', [], metrics),
      },
      clientCa: ca.cert,
      servingCertificate: {
        ensure,
        run: ({ onRotated, ...listener }, stopped) =>
          renewCertificates({ platform, ensure, ...listener, onRenewed: onRotated }, stopped),
      },
    })
    await this.#startDns({ controlPlane, client })
    await this.#startIngress(given)
    await Promise.all([waitForNodesReady(client, 1 + others.size, signal), this.#agent.synced])
    await labelControlPlane(client, name)
    onProgress(others.size === 0 ? `node ${name} is ready` : `${1 + others.size} nodes are ready`)
  }

  /** What `k8ts status` shows of this machine, and of the processes beside this one. */
  get holderState(): Pick<LockHolder, 'serviceProxy' | 'ingress'> {
    const serviceProxy = this.#agent.proxyStatus
    const ingress = this.#ingress?.state
    return { ...(serviceProxy && { serviceProxy }), ...(ingress && { ingress }) }
  }

  /** When the node stops, the containers of all nodes stay for the next process. */
  keepContainers(): void {
    this.#agent.keepContainers()
    this.#endSignal = 'SIGUSR2'
  }

  /**
   * Stops everything on the node, including containers unless they are kept; their pods are restarted with the cluster.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    const agent = this.#agent[Symbol.asyncDispose]()
    const parts = [this.#dns, this.#servingIngresses, agent]
    await Promise.all([this.#otherNodes?.stop(this.#endSignal), ...parts])
  }

  async #startOtherNodes({ certificates: { ca }, server }: StartContainerNode): Promise<NamespacedNodes> {
    const { NamespacedNodes } = await import('./namespaced-nodes.ts')
    const { machine, registryMirrors, proxyMode, count } = this.#options
    const { podCidrs, serviceCidrs, dnsAddress, nodeAddress } = this.network
    const flags = [
      `--cluster-cidr=${podCidrs.join()}`,
      `--service-cluster-ip-range=${serviceCidrs.join()}`,
      `--cluster-dns=${dnsAddress}`,
      `--dns-upstream=${nodeAddress}`,
      `--vxlan-id=${vxlanIdOf(this.network.slot)}`,
      ...(proxyMode ? [`--proxy-mode=${proxyMode}`] : []),
      ...registryMirrors.map(({ host, url }) => `--registry-mirror=${host}=${url}`),
    ]
    const { crypto } = machine
    const others = new NamespacedNodes({ ...this.#options, crypto, network: this.network, ca, server, flags })
    this.#otherNodes = others
    await others.start(count, this.#settings().name)
    return others
  }

  #settings(): KubeletConfiguration {
    const { linux } = this.#options
    const { nodeAddress, dnsAddress, slot } = this.network
    return kubeletConfiguration({
      name: linux.machine.hostname.toLowerCase(),
      addresses: [nodeAddress],
      rootDirectory: this.folders.kubelet,
      staticPodPath: this.folders.manifests,
      cgroupRoot: nodeCgroup(slot),
      clusterDNS: [dnsAddress],
    })
  }

  async #startIngress({ client, certificates, server }: StartContainerNode): Promise<void> {
    const { ingress, machine } = this.#options
    if (ingress === undefined) return
    const { SupervisedIngress } = await import('./supervised-ingress.ts')
    const { ca } = certificates
    const { name: nodeName } = this.#settings()
    const at = { ca, server, nodeName, address: this.network.nodeAddress, ...ingress }
    this.#ingress = new SupervisedIngress({ ...this.#options, crypto: machine.crypto, client, ...at })
    this.#servingIngresses = this.#ingress.run(this.#stopping.signal)
  }

  async #startDns({
    controlPlane,
    client,
  }: Pick<StartContainerNode, 'controlPlane' | 'client'>): Promise<void> {
    const { name: nodeName, clusterDomain, resolvConf } = this.#settings()
    const { nodeAddress, dnsAddress } = this.network
    const at = { address: nodeAddress, port: 53 }
    await ensureDnsRbac(client)
    await ensureDnsEndpointRole(client)
    const service = await ensureDnsService(client, dnsAddress)
    if (service === undefined) return
    await applyDnsSlice(client, dnsSliceOf(service, { ...at, name: dnsService.name, nodeName }))
    const { commonName, organizations } = dnsServer
    const dnsClient = controlPlane.clientAs(commonName, organizations)
    const { platform } = this.#options
    const { signal } = this.#stopping
    const dns = new ClusterDns({
      platform,
      client: dnsClient,
      domain: clusterDomain,
      listen: [{ host: nodeAddress, port: at.port }],
      nameServers: [dnsAddress],
      metricsAddress: nodeAddress,
      version: this.#options.version,
      usage: this.#options.machine.usage,
      passes: this.passes,
      nodeName,
      upstream: { resolvConf },
    })
    const expired = new ExpiredDnsEndpoints({ platform, client: dnsClient })
    this.#dns = Promise.all([dns.run(signal), expired.run(signal)])
    await dns.boundAddresses
  }
}

/** Unique on the machine, since the devices of the first nodes of all clusters are in one namespace. */
function vxlanIdOf(slot: number): number {
  return slot + 1
}

/** The role that `kubectl get nodes` shows. */
async function labelControlPlane(client: Client, name: string): Promise<void> {
  const labels = { 'node-role.kubernetes.io/control-plane': '' }
  await client.patch(nodes, { name }, { type: 'merge', patch: { metadata: { labels } } })
}
