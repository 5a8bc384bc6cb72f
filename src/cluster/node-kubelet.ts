/**
 * The kubelet of a node with all that it needs on the machine: the container runtime, the CNI configuration, the
 * kubelet's server and its certificates. It runs in the network namespace of this process.
 */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { PassLog } from '#/client/pass-log.ts'
import { Containerd } from '#/cri/containerd.ts'
import { ImageFolder } from '#/cri/image-folder.ts'
import { ensurePauseImage } from '#/cri/load-image.ts'
import { pauseImage, PrivateContainerd } from '#/cri/private-containerd.ts'
import type { KeyAndCertificate, RotationListener } from '#/kubelet/certificate-rotation.ts'
import { Kubelet, type KubeletOptions } from '#/kubelet/kubelet.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'
import type { KubeletView } from '#/kubelet/kubelet-view.ts'
import { KubeletServer } from '#/kubelet/server.ts'
import { ensureCniConfiguration } from '#/network/cni-files.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { cniPluginFolder } from './container-preflight.ts'
import type { NodeFolders } from './node-folders.ts'
import { terminateNodeProcesses } from './node-processes.ts'
import { findShimSockets, removeShimSockets } from './shim-sockets.ts'

export interface NodeKubeletOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: NodeMachine
  readonly folders: NodeFolders
  readonly kubelet: KubeletConfiguration
  /** A private containerd when absent. */
  readonly runtimeSocket?: string | undefined
  /** True if the private containerd goes on when this process ends. */
  readonly isContainerdLasting?: boolean
  readonly cni: CniSettings
  /** Resolves when the network policies of a pod that is about to start are in force. */
  readonly protectPod?: KubeletOptions['protectPod']
  /** The kubelet's version in the node status. */
  readonly version: string
  /** Of the other components of the node in this process. */
  readonly passes?: PassLog | undefined
  readonly onProgress: (text: string) => void
}

export interface NodeMachine {
  readonly serveHttp: ServeHttp
  readonly connectHttp: HttpConnect
  readonly loadGrpc: () => Promise<GrpcConnect>
  readonly crypto: Crypto
  readonly usage: () => ProcessUsage
}

export interface CniSettings {
  /** Configuration folder of the container runtime; that of the node's folders when absent. */
  readonly configFolder?: string | undefined
  /** Name of the network that the kubelet configures; absent if another CNI plugin connects the pods. */
  readonly network?: string | undefined
  /** MTU of the pods; until `useMtu` that of a veth pair when absent. */
  readonly mtu?: number | undefined
}

export interface StartNodeKubelet {
  /** Authenticated as `system:node:NAME`; its requests are measured in the registry. */
  readonly client: (metrics: MetricsRegistry) => Client
  /** Verifies the clients of the kubelet's server. */
  readonly clientCa: string
  readonly servingCertificate: RenewedCertificate
  /** Absent for a node in the process of the API server, whose requests need none. */
  readonly clientCertificate?: RenewedCertificate
}

export interface RenewedCertificate {
  /** Returns the certificate, renewed if necessary. */
  readonly ensure: (signal: AbortSignal) => Promise<KeyAndCertificate>
  /** Renews it until aborted. */
  readonly run: (listener: RotationListener, signal: AbortSignal) => Promise<void>
}

/** Grace period for containers when the node stops. */
const containerGraceMs = 3_000

const serverGraceMs = 1_000

export class NodeKubelet implements AsyncDisposable {
  readonly #options: NodeKubeletOptions
  readonly #containerd: Promise<PrivateContainerd | undefined>
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  #server: KubeletServer | undefined
  #view: KubeletView | undefined
  #podCidrs: readonly string[] = []
  #mtu: number | undefined
  /** Writes of the CNI configuration follow one another. */
  #configuring: Promise<void> = Promise.resolve()

  /** Begins to start the container runtime. */
  constructor(options: NodeKubeletOptions) {
    this.#options = options
    this.#mtu = options.cni.mtu
    this.#containerd = this.#startContainerd()
    // Prevents an unhandled rejection; `start` awaits the promise and reports the error.
    this.#containerd.catch(() => undefined)
  }

  /** Resolves when the kubelet runs. */
  async start(given: StartNodeKubelet): Promise<void> {
    const { folders, onProgress } = this.#options
    const containerd = await this.#containerd
    const runtime = await this.#connect(containerd)
    if (containerd !== undefined) {
      await this.#loadPauseImage(runtime)
      onProgress(`containerd started, log: ${folders.containerd}/containerd.log`)
    }
    const pinnedImages = await this.#importImages(runtime)
    await this.#startKubelet(given, { runtime, pinnedImages })
  }

  /** The reason why the kubelet does not work; undefined if it does. */
  problem(): string | undefined {
    return this.#view === undefined ? 'the kubelet is starting' : this.#view.problem()
  }

  /** Of pods that are created from now on. */
  useMtu(mtu: number | undefined): void {
    this.#mtu = mtu
    this.#configureCni()
  }

  /** Stops the kubelet and its server. Containers keep running, and the next kubelet finds them. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#server?.stop(serverGraceMs)
    await Promise.all(this.#running)
    await this.#configuring
  }

  /** Ends the supervision of the private containerd after `stop`, and leaves it running with its containers. */
  async release(): Promise<void> {
    const containerd = await this.#containerd.catch(() => undefined)
    await containerd?.[Symbol.asyncDispose]()
  }

  /** Stops everything, including containers; their pods are restarted with the node. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { platform, linux, folders, kubelet } = this.#options
    await this.stop()
    const { cgroupRoot } = kubelet
    const { containerdSocket } = folders
    const sockets = await findShimSockets(platform, folders)
    await terminateNodeProcesses({ platform, linux, cgroupRoot, containerdSocket }, containerGraceMs)
    const containerd = await this.#containerd.catch(() => undefined)
    await containerd?.[Symbol.asyncDispose]()
    await removeShimSockets(platform, folders, sockets)
  }

  async #startContainerd(): Promise<PrivateContainerd | undefined> {
    const { platform, linux, machine, folders, cni, runtimeSocket } = this.#options
    if (runtimeSocket !== undefined) return undefined
    return PrivateContainerd.start({
      platform,
      linux,
      connectGrpc: await machine.loadGrpc(),
      connectHttp: machine.connectHttp,
      folder: folders.containerd,
      isLasting: this.#options.isContainerdLasting ?? false,
      cni: { binFolder: await cniPluginFolder(platform), configFolder: cni.configFolder ?? folders.cni },
    })
  }

  async #connect(containerd: PrivateContainerd | undefined): Promise<Containerd> {
    const { platform, machine, kubelet, runtimeSocket = '' } = this.#options
    const { runtimeRequestTimeoutMs: requestTimeoutMs } = kubelet
    if (containerd !== undefined) return containerd.connect({ requestTimeoutMs })
    const connectGrpc = await machine.loadGrpc()
    const { connectHttp } = machine
    return Containerd.connect({
      platform,
      connectGrpc,
      connectHttp,
      requestTimeoutMs,
      socketPath: runtimeSocket,
    })
  }

  async #loadPauseImage(runtime: Containerd): Promise<void> {
    const { platform, linux, machine, folders, onProgress } = this.#options
    const { containerdSocket: socketPath } = folders
    const connectGrpc = await machine.loadGrpc()
    const state = await ensurePauseImage({ platform, linux, connectGrpc, socketPath, runtime })
    if (state === 'missing') onProgress('catatonit is not installed: the first pod pulls the pause image')
  }

  /** Resolves to the references of the images in the node's folder of images. */
  async #importImages(runtime: Containerd): Promise<readonly string[]> {
    const { platform, linux, machine, folders, runtimeSocket } = this.#options
    const { images: folder, containerdSocket: socketPath } = folders
    const loader = { platform, linux, connectGrpc: await machine.loadGrpc(), runtime }
    const images = new ImageFolder({ ...loader, socketPath: runtimeSocket ?? socketPath, folder })
    const imported = await images.import(this.#stopping.signal)
    this.#run(images.run(this.#stopping.signal))
    return imported
  }

  async #startKubelet(
    given: StartNodeKubelet,
    { runtime, pinnedImages }: { readonly runtime: Containerd; readonly pinnedImages: readonly string[] },
  ): Promise<void> {
    const { platform, linux, machine, kubelet: node, version } = this.#options
    const { connectHttp, loadGrpc: connectGrpc, serveHttp, usage } = machine
    const { signal } = this.#stopping
    const metrics = new KubeletMetrics()
    const client = given.client(metrics.registry)
    const { protectPod } = this.#options
    const shared = { platform, linux, runtime, node, version, client, metrics }
    const onPodCidrs = (podCidrs: readonly string[]): void => {
      this.#podCidrs = podCidrs
      this.#configureCni()
    }
    const kubelet = new Kubelet({
      ...shared,
      connectHttp,
      connectGrpc,
      pinnedImages,
      onPodCidrs,
      ...(protectPod && { protectPod }),
    })
    this.#view = kubelet
    const { certificates: measured } = metrics
    this.#run(kubelet.run(signal))
    if (given.clientCertificate) await this.#keepClientCertificate(given.clientCertificate, measured)
    // The serving certificate may wait for a manual approval. It is issued for the addresses of the Node object, which
    // the kubelet creates.
    const current = await given.servingCertificate.ensure(signal)
    const tlsOf = (pair: KeyAndCertificate): HttpTls => ({ ...pair, clientCa: given.clientCa })
    const server = await KubeletServer.start({
      ...shared,
      serveHttp,
      usage,
      view: kubelet,
      passes: this.#options.passes,
      sandboxImage: pauseImage,
      tls: tlsOf(current),
    })
    this.#server = server
    measured.useServer(current.cert, platform.clock)
    const onRotated = (next: KeyAndCertificate): void => {
      server.setTls(tlsOf(next))
      measured.useServer(next.cert, platform.clock)
    }
    const onFailure = (): void => measured.serverRenewErrors.add()
    this.#run(given.servingCertificate.run({ current, onRotated, onFailure }, signal))
  }

  async #keepClientCertificate(
    certificate: RenewedCertificate,
    measured: KubeletMetrics['certificates'],
  ): Promise<void> {
    const { clock } = this.#options.platform
    const { signal } = this.#stopping
    const current = await certificate.ensure(signal)
    measured.useClient(current.cert, clock)
    const onRotated = (next: KeyAndCertificate): void => measured.useClient(next.cert, clock)
    const onFailure = (): void => measured.clientRenewErrors.add()
    this.#run(certificate.run({ current, onRotated, onFailure }, signal))
  }

  #configureCni(): void {
    const { platform, folders, cni } = this.#options
    const { network: name } = cni
    if (name === undefined || this.#podCidrs.length === 0) return
    const files = {
      files: platform.files,
      name,
      folders: { configuration: cni.configFolder ?? folders.cni, addresses: folders.addresses },
    }
    this.#configuring = this.#configuring
      .then(() => ensureCniConfiguration(files, { podCidrs: this.#podCidrs, mtu: this.#mtu }))
      .catch((error: unknown) => platform.log.error('Failed to configure the pod network', { error }))
  }

  #run(running: Promise<void>): void {
    this.#running.push(running)
  }
}
