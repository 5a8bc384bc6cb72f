/**
 * The kubelet as a process of its own: `k8ts kubelet`. Containers keep running when it stops, and the next kubelet
 * finds them.
 */
import { untilAborted } from '#/base/abort.ts'
import { ensureWebhookCertificates } from '#/kubeadm/webhook-certificates.ts'
import { registryFolder } from '#/cri/private-containerd.ts'
import { ensureRegistryMirrors, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { findNodeLink } from '#/network/node-link.ts'
import { podMtu, type PodNetworkSettings } from '#/network/pod-network.ts'
import type { Linux } from '#/platform/linux.ts'
import { PlainHttpServer, type PlainResponse } from '#/platform/plain-http.ts'
import type { Platform } from '#/platform/platform.ts'
import { kubeletFolder, readKubeletRecord, writeKubeletRecord } from './kubelet-record.ts'
import { lockFolder, type LockHolder } from './lock-folder.ts'
import { connectKubelet, type KubeletConnectionOptions } from './kubelet-connection.ts'
import { waitForPodRules } from '#/network-policy/wait-for-pod-rules.ts'
import { NodeKubelet, type NodeMachine, type RenewedCertificate } from './node-kubelet.ts'
import { nodeFolders } from './node-folders.ts'
import { cniNetworkOf, hostNetwork } from './node-networks.ts'
import { protectFromOutOfMemory } from './protect-from-out-of-memory.ts'

export interface KubeletProcessOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: NodeMachine
  /** Folder of the host: credentials, container runtime, volumes. */
  readonly folder: string
  readonly kubelet: KubeletConfiguration
  readonly credentials: Pick<
    KubeletConnectionOptions,
    'kubeconfig' | 'bootstrapKubeconfig' | 'certificates' | 'clientCaFile' | 'isClientRotated'
  >
  /** `cluster`: requested from the cluster; `self-signed`: in memory. */
  readonly servingCertificate: 'cluster' | 'self-signed' | ServingCertificateFiles
  /** Of an existing container runtime; a private containerd when absent. */
  readonly runtimeSocket: string | undefined
  readonly registryMirrors: readonly RegistryMirror[]
  /** `none` leaves the pods to another CNI plugin, whose configuration is in the folder. */
  readonly podNetwork: PodNetworkSettings['backend'] | 'none'
  /** CNI configuration folder of the container runtime; that of the node's folders when absent. */
  readonly cniFolder: string | undefined
  readonly health: { readonly host: string; readonly port: number } | undefined
  /** Of this process. */
  readonly pid: number
  readonly version: string
  readonly onProgress: (text: string) => void
}

export interface ServingCertificateFiles {
  readonly cert: string
  readonly key: string
}

/** Runs until aborted. */
export async function runKubelet(options: KubeletProcessOptions, signal: AbortSignal): Promise<void> {
  const { platform, linux, folder, kubelet: node, registryMirrors, podNetwork, cniFolder } = options
  const folders = nodeFolders(folder)
  const { cgroupRoot, rootDirectory } = node
  await requireCredentials(options)
  const startedMs = platform.clock.now()
  const describe = (): LockHolder => ({ pid: options.pid, startedMs, isReady: true })
  await platform.files.makeFolder(kubeletFolder(folder))
  await using _lock = await lockFolder(platform, kubeletFolder(folder), describe)
  const { cniFolder: earlierCniFolder } = (await readKubeletRecord(platform.files, folder)) ?? {}
  const record = {
    cgroupRoot,
    rootDirectory,
    cniFolder: podNetwork === 'none' ? earlierCniFolder : (cniFolder ?? earlierCniFolder),
  }
  await writeKubeletRecord(platform.files, folder, record)
  const mirrors = { files: platform.files, folder: registryFolder(folders.containerd) }
  await ensureRegistryMirrors({ ...mirrors, mirrors: registryMirrors })
  await protectFromOutOfMemory({ platform, linux, cgroupRoot })
  const cni = {
    configFolder: cniFolder,
    ...(podNetwork !== 'none' && {
      network: cniNetworkOf(cgroupRoot),
      mtu: await readPodMtu(options, podNetwork),
    }),
  }
  const table = hostNetwork.tables.policy
  const kubelet = new NodeKubelet({
    ...options,
    folders,
    cni,
    isContainerdLasting: true,
    // Another CNI plugin enforces network policies itself.
    ...(podNetwork !== 'none' && {
      protectPod: (_pod, addresses, stopped) =>
        waitForPodRules({ platform, linux, table }, addresses, stopped),
    }),
  })
  try {
    await using _ = await serveHealth(options, kubelet)
    await using connection = await connectKubelet(
      {
        ...options,
        ...options.credentials,
        nodeName: node.name,
        names: [node.name, ...node.addresses],
        servingCertificate: await ownServingCertificate(options),
      },
      signal,
    )
    await kubelet.start(connection.start)
    options.onProgress(`kubelet of node ${node.name} started`)
    await untilAborted(signal)
    await kubelet.stop()
  } catch (error) {
    await kubelet.stop()
    if (!signal.aborted) throw error
  } finally {
    await kubelet.release()
  }
}

/** Before anything is started. */
async function requireCredentials({ platform, credentials }: KubeletProcessOptions): Promise<void> {
  const paths = [credentials.kubeconfig, credentials.bootstrapKubeconfig]
  for (const path of paths) if ((await platform.files.stat(path)) !== undefined) return
  throw new Error(`no kubeconfig: neither ${paths.join(' nor ')} exists; set --kubeconfig, or run k8ts join`)
}

async function readPodMtu(
  { linux, kubelet: { addresses } }: KubeletProcessOptions,
  backend: PodNetworkSettings['backend'],
): Promise<number> {
  const [address = ''] = addresses
  const { mtu } = await findNodeLink(linux, address)
  return podMtu(backend, { mtu, family: address.includes(':') ? 6 : 4 })
}

async function serveHealth(
  { platform, health }: KubeletProcessOptions,
  kubelet: NodeKubelet,
): Promise<AsyncDisposable | undefined> {
  if (health === undefined) return undefined
  const mediaType = 'text/plain; charset=utf-8'
  const answer = ({ path }: { readonly path: string }): PlainResponse => {
    if (!/^\/healthz(\/|$)/.test(path)) return { status: 404, mediaType, text: '404 page not found\n' }
    const problem = kubelet.problem()
    if (problem === undefined || /^\/healthz\/(ping|log)$/.test(path))
      return { status: 200, mediaType, text: 'ok' }
    return {
      status: 500,
      mediaType,
      text: '[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n',
    }
  }
  return PlainHttpServer.start({ platform, ...health, answer })
}

/** Undefined if the certificate is requested from the cluster. */
async function ownServingCertificate({
  platform,
  machine,
  kubelet: { name, addresses },
  servingCertificate,
}: KubeletProcessOptions): Promise<RenewedCertificate | undefined> {
  if (servingCertificate === 'cluster') return undefined
  const run = async (): Promise<void> => undefined
  if (servingCertificate !== 'self-signed') {
    const read = async (path: string): Promise<string> =>
      Buffer.from(await platform.files.read(path)).toString()
    const { cert, key } = servingCertificate
    return { ensure: async () => ({ cert: await read(cert), key: await read(key) }), run }
  }
  const { crypto } = machine
  const request = { name: `kubelet ${name}`, names: [name, ...addresses], existing: undefined }
  const { cert, key } = await ensureWebhookCertificates({ platform, crypto }, request)
  return { ensure: async () => ({ cert, key }), run }
}
