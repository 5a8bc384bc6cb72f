/** What `init` does on a host: the configuration file with flags and the machine's own facts in place of defaults. */
import type { Taint } from '#/api/generated/core/v1.ts'
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import { formatIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Random } from '#/platform/platform.ts'
import {
  bootstrapTokenUsages,
  defaultTokenTtlMs,
  generateBootstrapToken,
  nodeBootstrapTokenGroup,
  parseBootstrapToken,
  type BootstrapToken,
} from './bootstrap-token.ts'
import type { CertificateValidity } from './certificates/pair-files.ts'
import { defaultClusterConfiguration, splitEndpoint, type Configuration } from './configuration.ts'
import type { Arg, BootstrapTokenEntry, ClusterConfiguration, ExternalEtcd } from './configuration.ts'

export interface InitSettings {
  /** The folder of the host: kubeconfigs, and the node's data. */
  readonly folder: string
  readonly certificatesDir: string
  readonly nodeName: string
  readonly advertiseAddress: string
  readonly bindPort: number
  /** `host:port` by which other machines reach the cluster: of a load balancer, or of this host. */
  readonly controlPlaneEndpoint: string
  readonly clusterName: string
  readonly serviceSubnets: readonly string[]
  readonly podSubnets: readonly string[]
  /** The cluster IP of the DNS service: the tenth of each service subnet. */
  readonly clusterDns: readonly string[]
  readonly dnsDomain: string
  /** Additional names and addresses of the API server's certificate. */
  readonly certSANs: readonly string[]
  readonly etcd: EtcdSettings
  readonly taints: readonly Taint[]
  /** Flags of the kubelet of this host. */
  readonly kubeletExtraArgs: readonly Arg[]
  readonly validity: CertificateValidity | undefined
  /** The configuration with its defaults, which is stored in the cluster. */
  readonly clusterConfiguration: ClusterConfiguration
  /** Fields of a KubeletConfiguration that override the defaults of the cluster. */
  readonly kubelet: JsonObject
  readonly hasDns: boolean
  readonly hasProxy: boolean
}

export type EtcdSettings =
  /** The store is in the API server's process. */
  | { readonly type: 'embedded' }
  | {
      readonly type: 'local'
      readonly serverCertSANs: readonly string[]
      readonly peerCertSANs: readonly string[]
    }
  | { readonly type: 'external'; readonly external: ExternalEtcd }

export interface InitSettingsOptions {
  readonly folder: string
  readonly configuration: Pick<Configuration, 'cluster' | 'init' | 'kubelet'>
  readonly kubernetesVersion: string
  readonly machine: {
    readonly hostname: string
    /** The address of the default route. */
    readonly address: string
  }
}

const controlPlaneTaint: Taint = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }

export function planInit(options: InitSettingsOptions): InitSettings {
  const { folder, machine, kubernetesVersion, configuration } = options
  const { init, kubelet = {} } = configuration
  const defaults = defaultClusterConfiguration({ kubernetesVersion, certificatesDir: `${folder}/pki` })
  const networking = { ...defaults.networking, ...configuration.cluster.networking }
  const cluster: ClusterConfiguration = {
    ...defaults,
    ...configuration.cluster,
    kubernetesVersion,
    networking,
  }
  const { advertiseAddress = machine.address, bindPort = 6443 } = init.localAPIEndpoint ?? {}
  const given = splitEndpoint(cluster.controlPlaneEndpoint ?? advertiseAddress)!
  const serviceSubnets = subnets(networking.serviceSubnet)
  return {
    folder,
    certificatesDir: cluster.certificatesDir!,
    nodeName: init.nodeRegistration?.name ?? machine.hostname.toLowerCase(),
    advertiseAddress,
    bindPort,
    controlPlaneEndpoint: joinHostPort(given.host, given.port ?? bindPort),
    clusterName: cluster.clusterName!,
    serviceSubnets,
    podSubnets: subnets(networking.podSubnet),
    clusterDns: serviceSubnets.map(each => formatIp(nthAddress(parseCidr(each)!, 10)!)),
    dnsDomain: networking.dnsDomain!,
    certSANs: cluster.apiServer?.certSANs ?? [],
    etcd: etcdSettings(cluster),
    taints: init.nodeRegistration?.taints ?? [controlPlaneTaint],
    kubeletExtraArgs: init.nodeRegistration?.kubeletExtraArgs ?? [],
    validity: validityOf(cluster),
    clusterConfiguration: cluster,
    kubelet,
    hasDns: cluster.dns?.disabled !== true,
    hasProxy: cluster.proxy?.disabled !== true,
  }
}

/** An IPv6 address gets brackets. */
export function joinHostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function subnets(text = ''): readonly string[] {
  return text
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')
}

function etcdSettings({ etcd = {} }: ClusterConfiguration): EtcdSettings {
  const { local, external } = etcd
  if (external) return { type: 'external', external }
  if (local === undefined) return { type: 'embedded' }
  return {
    type: 'local',
    serverCertSANs: local.serverCertSANs ?? [],
    peerCertSANs: local.peerCertSANs ?? [],
  }
}

function validityOf(cluster: ClusterConfiguration): CertificateValidity | undefined {
  const certificateMs = tryParseDurationMs(cluster.certificateValidityPeriod ?? '')
  const caMs = tryParseDurationMs(cluster.caCertificateValidityPeriod ?? '')
  return certificateMs === undefined || caMs === undefined ? undefined : { certificateMs, caMs }
}

/** The tokens of an InitConfiguration; a random one with the defaults when it has none. */
export function planBootstrapTokens(
  entries: readonly BootstrapTokenEntry[] | undefined,
  { random, nowMs }: { readonly random: Random; readonly nowMs: number },
): readonly BootstrapToken[] {
  const all = entries === undefined || entries.length === 0 ? [{}] : entries
  return all.map(({ token, description = '', ttl, expires, usages, groups }) => {
    const ttlMs = tryParseDurationMs(ttl ?? '') ?? defaultTokenTtlMs
    const known = usages ?? bootstrapTokenUsages
    return {
      ...parseBootstrapToken(token ?? generateBootstrapToken(random))!,
      description,
      expiresMs: expires !== undefined ? parseTime(expires) : ttlMs ? nowMs + ttlMs : undefined,
      usages: known,
      groups: groups ?? (known.includes('authentication') ? [nodeBootstrapTokenGroup] : []),
    }
  })
}
