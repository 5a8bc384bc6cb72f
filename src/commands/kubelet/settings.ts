/** What flags and configuration file of `k8ts kubelet` mean: the settings of the kubelet and of its process. */
import { join } from 'node:path'
import { addQuantities, formatQuantity, tryParseQuantity } from '#/api/text/quantity.ts'
import { UsageError } from '#/base/flags.ts'
import type { KubeletProcessOptions } from '#/cluster/kubelet-process.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { validateKubeletConfiguration } from '#/kubelet/validate-kubelet-configuration.ts'
import type { KubeletSettings } from './configuration-file.ts'
import type { KubeletFlags } from './flags.ts'

export interface KubeletSettingsOptions {
  readonly flags: KubeletFlags
  /** Of the configuration file. */
  readonly file: Partial<KubeletSettings>
  /** Folder of the host. */
  readonly folder: string
  readonly machine: { readonly hostname: string; readonly address: string }
  /** True if `DIR/pki/ca.crt` exists. */
  readonly hasClusterCa: boolean
}

export type PlannedKubelet = Pick<
  KubeletProcessOptions,
  | 'folder'
  | 'kubelet'
  | 'credentials'
  | 'servingCertificate'
  | 'runtimeSocket'
  | 'registryMirrors'
  | 'podNetwork'
  | 'cniFolder'
  | 'health'
>

/** The CNI configuration folder of most container runtimes and CNI plugins. */
const usualCniFolder = '/etc/cni/net.d'

const usualHealth = { host: '127.0.0.1', port: 10_248 }

/** Throws UsageError. */
export function planKubelet(options: KubeletSettingsOptions): PlannedKubelet {
  const { flags, file, folder, hasClusterCa } = options
  const { healthHost, healthPort, rotatesCertificates, clientCaFile } = file
  const health = {
    host: flags['healthz-bind-address'] ?? healthHost ?? usualHealth.host,
    port: flags['healthz-port'] ?? healthPort ?? usualHealth.port,
  }
  const runtimeSocket = planRuntimeSocket(flags['container-runtime-endpoint'] ?? file.runtimeEndpoint)
  const podNetwork = flags['pod-network'] ?? 'vxlan'
  const isPrivateNetwork = runtimeSocket === undefined && podNetwork !== 'none'
  const usualCa = hasClusterCa ? join(folder, 'pki/ca.crt') : undefined
  const kubelet = planConfiguration(options)
  const fault = validateKubeletConfiguration(kubelet)
  if (fault !== undefined) throw new UsageError(fault)
  return {
    folder,
    kubelet,
    credentials: {
      kubeconfig: flags.kubeconfig ?? join(folder, 'kubelet.conf'),
      bootstrapKubeconfig: flags['bootstrap-kubeconfig'] ?? join(folder, 'bootstrap-kubelet.conf'),
      certificates: flags['cert-dir'] ?? nodeFolders(folder).certificates,
      clientCaFile: flags['client-ca-file'] ?? clientCaFile ?? usualCa,
      isClientRotated: flags['rotate-certificates'] ?? rotatesCertificates ?? true,
    },
    servingCertificate: planServingCertificate(options),
    runtimeSocket,
    registryMirrors: flags['registry-mirror'] ?? [],
    podNetwork,
    cniFolder: flags['cni-conf-dir'] ?? (isPrivateNetwork ? undefined : usualCniFolder),
    health: health.port === 0 ? undefined : health,
  }
}

function planConfiguration({ flags, file, folder, machine }: KubeletSettingsOptions): KubeletConfiguration {
  const { kubelet: given = {} } = file
  const folders = nodeFolders(folder)
  const usual = kubeletConfiguration({
    name: (flags['hostname-override'] ?? machine.hostname).toLowerCase(),
    addresses: flags['node-ip'] ?? [machine.address],
    rootDirectory: flags['root-dir'] ?? folders.kubelet,
    cgroupRoot: flags['cgroup-root'] ?? given.cgroupRoot ?? '/k8ts',
    staticPodPath: folders.manifests,
  })
  const evictionHard = flags['eviction-hard'] ?? given.evictionHard
  return {
    ...usual,
    ...given,
    cgroupRoot: usual.cgroupRoot,
    imageGc: { ...usual.imageGc, ...given.imageGc },
    containerLog: { ...usual.containerLog, ...given.containerLog },
    webhookCache: { ...usual.webhookCache, ...given.webhookCache },
    ...(evictionHard && {
      evictionHard: file.mergesDefaultEviction ? { ...usual.evictionHard, ...evictionHard } : evictionHard,
    }),
    systemReserved: planReserved(
      flags['system-reserved'] ?? given.systemReserved ?? {},
      flags['kube-reserved'] ?? file.kubeReserved ?? {},
    ),
    ...ofFlags(flags),
  }
}

function ofFlags(flags: KubeletFlags): Partial<KubeletConfiguration> {
  const all: { readonly [Name in keyof KubeletConfiguration]?: KubeletConfiguration[Name] | undefined } = {
    labels: flags['node-labels'],
    registerNode: flags['register-node'],
    registerTaints: flags['register-with-taints'],
    providerId: flags['provider-id'],
    staticPodPath: flags['pod-manifest-path'],
    clusterDNS: flags['cluster-dns'],
    clusterDomain: flags['cluster-domain'],
    resolvConf: flags['resolv-conf'],
    podsMax: flags['max-pods'],
    podPidsMax: flags['pod-max-pids'],
    serverAddress: flags.address,
    kubeletPort: flags.port,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function planServingCertificate({
  flags,
  file,
}: KubeletSettingsOptions): KubeletProcessOptions['servingCertificate'] {
  const cert = flags['tls-cert-file'] ?? file.tlsCertFile
  const key = flags['tls-private-key-file'] ?? file.tlsPrivateKeyFile
  if (cert !== undefined && key !== undefined) return { cert, key }
  if (cert !== undefined || key !== undefined)
    throw new UsageError('--tls-cert-file and --tls-private-key-file are required together')
  const isFromCluster = flags['rotate-server-certificates'] ?? file.bootstrapsServerTls ?? false
  return isFromCluster ? 'cluster' : 'self-signed'
}

function planRuntimeSocket(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined || endpoint === '') return undefined
  const path = endpoint.replace(/^unix:\/\//, '')
  if (!path.startsWith('/'))
    throw new UsageError(
      `container runtime endpoint ${endpoint} must be a socket, such as unix:///run/containerd/containerd.sock`,
    )
  return path
}

type Quantities = Readonly<Record<string, string>>

/** Nothing but their sum matters here. */
function planReserved(system: Quantities, kube: Quantities): Quantities {
  const names = [...new Set([...Object.keys(system), ...Object.keys(kube)])]
  return Object.fromEntries(
    names.map(name => {
      const given = [system[name], kube[name]].filter(each => each !== undefined)
      const quantities = given.map(each => {
        const quantity = tryParseQuantity(each)
        if (quantity === undefined) throw new UsageError(`reserved ${name} ${each} is not a quantity`)
        return quantity
      })
      return [name, formatQuantity(quantities.reduce(addQuantities))]
    }),
  )
}
