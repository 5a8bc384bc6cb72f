/**
 * This machine as a node of the cluster: its network, a container runtime, the kubelet with its server, the
 * service proxy and the cluster DNS. Each has its own identity with only the rights that it would have as a
 * separate process.
 */
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Containerd } from '#/cri/containerd.ts'
import { ensurePauseImage } from '#/cri/load-image.ts'
import { pauseImage, PrivateContainerd, registryFolder } from '#/cri/private-containerd.ts'
import { ensureRegistryMirrors, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import { ClusterDns } from '#/dns/dns.ts'
import { dnsServiceAccount, ensureDnsRbac, ensureDnsService } from '#/dns/ensure-dns.ts'
import { ensureKubeletCertificates, type KubeletCertificates } from '#/kubeadm/kubelet-certificates.ts'
import { renewCertificates } from '#/kubeadm/renew-certificates.ts'
import { Kubelet } from '#/kubelet/kubelet.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { KubeletServer } from '#/kubelet/server.ts'
import {
  allNodesCidr,
  planClusterNetwork,
  type ClusterNetwork,
  type ClusterNetworkOverrides,
} from '#/network/cluster-network.ts'
import { claimNetworkSlot, type NetworkSlot } from '#/network/network-slot.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { removeNftablesRules, type ProxyNetwork } from '#/proxy/nftables.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import type { ControlPlane } from './control-plane.ts'
import { nodeCgroup, nodeFolders, type NodeFolders } from './node-folders.ts'
import { terminateNodeProcesses } from './node-processes.ts'
import { protectFromOutOfMemory } from './protect-from-out-of-memory.ts'
import { waitForNodesReady } from './wait-for-nodes-ready.ts'
import { removeShimSockets } from './shim-sockets.ts'
import { cniPluginFolder } from './container-preflight.ts'

export interface ContainerNodeSettings {
  readonly type: 'containers'
  readonly linux: Linux
  readonly podCidrs?: readonly string[]
  readonly registryMirrors?: readonly RegistryMirror[]
}

export interface ContainerNodeOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: ContainerNodeMachine
  /** Folder of the cluster. */
  readonly folder: string
  readonly choice: ClusterNetworkOverrides
  readonly registryMirrors: readonly RegistryMirror[]
  /** The kubelet's version in the node status. */
  readonly version: string
  readonly onProgress: (text: string) => void
}

interface ContainerNodeMachine {
  readonly serveHttp: ServeHttp
  readonly connectHttp: HttpConnect
  readonly loadGrpc: () => Promise<GrpcConnect>
  readonly crypto: Crypto
  readonly usage: () => ProcessUsage
}

export interface StartContainerNode {
  readonly controlPlane: Pick<ControlPlane, 'clientAs'>
  /** Has administrator rights. */
  readonly client: Client
  readonly certificates: ClusterCertificates
  readonly signal: AbortSignal
}

/** Grace period for containers when the cluster stops. */
const containerGraceMs = 3_000

const serverGraceMs = 1_000

const serviceAccountGroups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system']

export class ContainerNode implements AsyncDisposable {
  readonly network: ClusterNetwork
  readonly folders: NodeFolders
  readonly #options: ContainerNodeOptions
  readonly #claim: NetworkSlot
  readonly #nodeNetwork: NodeNetwork
  readonly #containerd: Promise<PrivateContainerd>
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  #server: KubeletServer | undefined

  private constructor(options: ContainerNodeOptions, claim: NetworkSlot) {
    const { platform, linux, folder, choice } = options
    this.#options = options
    this.#claim = claim
    this.network = planClusterNetwork(claim.slot, choice)
    this.folders = nodeFolders(folder)
    this.#nodeNetwork = new NodeNetwork({
      linux,
      files: platform.files,
      network: this.network,
      claim,
      folders: { configuration: this.folders.cni, addresses: this.folders.addresses },
    })
    this.#containerd = this.#startContainerd()
    // Prevents an unhandled rejection; `start` awaits the promise and reports the error.
    this.#containerd.catch(() => undefined)
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
  async start({ controlPlane, client, certificates, signal }: StartContainerNode): Promise<void> {
    const { platform, linux, machine, onProgress } = this.#options
    const settings = this.#settings()
    const containerd = await this.#containerd
    const runtime = containerd.connect({ requestTimeoutMs: settings.runtimeRequestTimeoutMs })
    await this.#loadPauseImage(runtime)
    onProgress(`containerd started, log: ${this.folders.containerd}/containerd.log`)
    await this.#startKubelet({ controlPlane, certificates, settings, runtime })
    const proxy = new ServiceProxy({
      platform,
      linux,
      client: controlPlane.clientAs('system:kube-proxy'),
      nodeName: settings.name,
      network: this.#proxyNetwork(),
      serverAddress: this.network.nodeAddress,
      usage: machine.usage,
      onRulesLost: () => {
        this.#nodeNetwork
          .ensure()
          .catch((error: unknown) => platform.log.error('Failed to restore the node network', { error }))
      },
    })
    this.#run(proxy.run(this.#stopping.signal))
    this.#run(this.#followPodCidrs(client, settings.name))
    await this.#startDns({ controlPlane, client, settings })
    await Promise.all([waitForNodesReady(client, 1, signal), proxy.synced])
    onProgress(`node ${settings.name} is ready`)
  }

  /** Stops everything on the node, including containers; their pods are restarted with the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { platform, linux } = this.#options
    this.#stopping.abort()
    await this.#server?.stop(serverGraceMs)
    await Promise.all(this.#running)
    const cgroupRoot = nodeCgroup(this.#claim.slot)
    const { containerdSocket } = this.folders
    await terminateNodeProcesses({ platform, linux, cgroupRoot, containerdSocket }, containerGraceMs)
    const containerd = await this.#containerd.catch(() => undefined)
    await containerd?.[Symbol.asyncDispose]()
    await removeShimSockets(platform, this.folders)
    await removeNftablesRules(linux, this.network.tables.proxy)
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

  #proxyNetwork(): ProxyNetwork {
    const { tables, podCidrs, serviceCidrs, nodeAddress, nodeCidr } = this.network
    const families = podCidrs.map(cidr => (cidr.includes(':') ? 6 : 4))
    const table = tables.proxy
    const foreignAddresses = [allNodesCidr].filter(cidr => cidr !== nodeCidr)
    return { table, families, podCidrs, serviceCidrs, nodeAddresses: [nodeAddress], foreignAddresses }
  }

  async #startContainerd(): Promise<PrivateContainerd> {
    const { platform, linux, machine } = this.#options
    return PrivateContainerd.start({
      platform,
      linux,
      connectGrpc: await machine.loadGrpc(),
      connectHttp: machine.connectHttp,
      folder: this.folders.containerd,
      cni: { binFolder: await cniPluginFolder(platform), configFolder: this.folders.cni },
    })
  }

  async #loadPauseImage(runtime: Containerd): Promise<void> {
    const { platform, linux, machine, onProgress } = this.#options
    const { containerdSocket: socketPath } = this.folders
    const connectGrpc = await machine.loadGrpc()
    const state = await ensurePauseImage({ platform, linux, connectGrpc, socketPath, runtime })
    if (state === 'missing') onProgress('catatonit is not installed: the first pod pulls the pause image')
  }

  async #startKubelet({
    controlPlane,
    certificates,
    settings,
    runtime,
  }: Pick<StartContainerNode, 'controlPlane' | 'certificates'> & {
    readonly settings: KubeletConfiguration
    readonly runtime: Containerd
  }): Promise<void> {
    const { platform, linux, machine } = this.#options
    const { name, addresses } = settings
    const { ca } = certificates
    const client = controlPlane.clientAs(`system:node:${name}`, ['system:nodes'])
    const kubelet = new Kubelet({
      platform,
      linux,
      runtime,
      client,
      node: settings,
      version: this.#options.version,
      connectHttp: machine.connectHttp,
      connectGrpc: machine.loadGrpc,
    })
    const ensure = (): Promise<KubeletCertificates> =>
      ensureKubeletCertificates({
        platform,
        crypto: machine.crypto,
        folder: this.folders.certificates,
        ca: ca,
        nodeName: name,
        addresses,
      })
    const tlsOf = ({ server }: KubeletCertificates): HttpTls => ({ ...server, clientCa: ca.cert })
    const current = await ensure()
    const server = await KubeletServer.start({
      platform,
      linux,
      serveHttp: machine.serveHttp,
      client,
      runtime,
      node: settings,
      view: kubelet,
      metrics: kubelet.metrics,
      sandboxImage: pauseImage,
      version: this.#options.version,
      tls: tlsOf(current),
      usage: machine.usage,
    })
    this.#server = server
    const { certificates: measured } = kubelet.metrics
    measured.useServer(current.server.cert, platform.clock)
    const onRenewed = (next: KubeletCertificates): void => {
      server.setTls(tlsOf(next))
      measured.useServer(next.server.cert, platform.clock)
    }
    const onFailure = (): void => measured.serverRenewErrors.add()
    this.#run(renewCertificates({ platform, current, ensure, onRenewed, onFailure }, this.#stopping.signal))
    this.#run(kubelet.run(this.#stopping.signal))
  }

  async #startDns({
    controlPlane,
    client,
    settings: { name: nodeName, clusterDomain, resolvConf },
  }: Pick<StartContainerNode, 'controlPlane' | 'client'> & {
    readonly settings: KubeletConfiguration
  }): Promise<void> {
    const { nodeAddress, dnsAddress } = this.network
    const at = { address: nodeAddress, port: 53 }
    await ensureDnsRbac(client)
    const whose = await ensureDnsService(client, { ...at, clusterIp: dnsAddress, nodeName })
    if (whose === 'elsewhere') return
    const dns = new ClusterDns({
      platform: this.#options.platform,
      client: controlPlane.clientAs(
        `system:serviceaccount:kube-system:${dnsServiceAccount}`,
        serviceAccountGroups,
      ),
      domain: clusterDomain,
      listen: [{ host: nodeAddress, port: at.port }],
      nameServers: [dnsAddress],
      metricsAddress: nodeAddress,
      version: this.#options.version,
      usage: this.#options.machine.usage,
      upstream: { resolvConf },
    })
    this.#run(dns.run(this.#stopping.signal))
    await dns.boundAddresses
  }

  /** The node IPAM controller assigns the pod CIDRs after the node has registered. */
  async #followPodCidrs(client: Client, name: string): Promise<void> {
    const { platform } = this.#options
    const informer = new Informer({
      platform,
      client,
      resource: nodes,
      selection: { fieldSelector: `metadata.name=${name}` },
    })
    informer.addEventHandler((_key, { newObject }) => {
      const podCidrs = newObject?.spec?.podCIDRs ?? []
      if (podCidrs.length === 0) return
      this.#nodeNetwork
        .ensurePodNetwork(podCidrs)
        .catch((error: unknown) => platform.log.error('Failed to configure the pod network', { error }))
    })
    await informer.run(this.#stopping.signal)
  }

  #run(running: Promise<void>): void {
    this.#running.push(running)
  }
}
