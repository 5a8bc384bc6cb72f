/** The kinds of kubeadm's configuration file, `kubeadm.k8s.io/v1beta4`, with the fields that have a meaning here. */
import type { Taint } from '#/api/generated/core/v1.ts'

export interface ClusterConfiguration {
  readonly apiServer?: ControlPlaneComponent & { readonly certSANs?: readonly string[] }
  readonly caCertificateValidityPeriod?: string
  readonly certificateValidityPeriod?: string
  readonly certificatesDir?: string
  readonly clusterName?: string
  /** `host`, or `host:port`. */
  readonly controlPlaneEndpoint?: string
  readonly controllerManager?: ControlPlaneComponent
  readonly dns?: { readonly disabled?: boolean }
  readonly encryptionAlgorithm?: string
  readonly etcd?: { readonly local?: LocalEtcd; readonly external?: ExternalEtcd }
  readonly kubernetesVersion?: string
  readonly networking?: Networking
  readonly proxy?: { readonly disabled?: boolean }
  readonly scheduler?: ControlPlaneComponent
}

export interface ControlPlaneComponent {
  readonly extraArgs?: readonly Arg[]
}

/** A flag without leading dashes. */
export interface Arg {
  readonly name?: string
  readonly value?: string
}

export interface LocalEtcd {
  readonly dataDir?: string
  readonly extraArgs?: readonly Arg[]
  readonly serverCertSANs?: readonly string[]
  readonly peerCertSANs?: readonly string[]
}

export interface ExternalEtcd {
  readonly endpoints?: readonly string[]
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}

export interface Networking {
  readonly serviceSubnet?: string
  readonly podSubnet?: string
  readonly dnsDomain?: string
}

export interface InitConfiguration {
  readonly bootstrapTokens?: readonly BootstrapTokenEntry[]
  readonly nodeRegistration?: NodeRegistration
  readonly localAPIEndpoint?: ApiEndpoint
  readonly certificateKey?: string
  readonly skipPhases?: readonly string[]
  readonly timeouts?: Timeouts
}

export interface BootstrapTokenEntry {
  readonly token?: string
  readonly description?: string
  readonly ttl?: string
  readonly expires?: string
  readonly usages?: readonly string[]
  readonly groups?: readonly string[]
}

export interface NodeRegistration {
  readonly name?: string
  readonly taints?: readonly Taint[]
  readonly kubeletExtraArgs?: readonly Arg[]
  readonly ignorePreflightErrors?: readonly string[]
}

export interface ApiEndpoint {
  readonly advertiseAddress?: string
  readonly bindPort?: number
}

/** Durations. */
export interface Timeouts {
  readonly controlPlaneComponentHealthCheck?: string
  readonly discovery?: string
  readonly etcdAPICall?: string
  readonly kubeletHealthCheck?: string
  readonly kubernetesAPICall?: string
  readonly tlsBootstrap?: string
}

export interface JoinConfiguration {
  readonly nodeRegistration?: NodeRegistration
  readonly caCertPath?: string
  readonly discovery?: Discovery
  readonly controlPlane?: { readonly localAPIEndpoint?: ApiEndpoint; readonly certificateKey?: string }
  readonly skipPhases?: readonly string[]
  readonly timeouts?: Timeouts
}

export interface Discovery {
  readonly bootstrapToken?: BootstrapTokenDiscovery
  readonly file?: { readonly kubeConfigPath?: string }
  readonly tlsBootstrapToken?: string
}

export interface BootstrapTokenDiscovery {
  readonly token?: string
  /** `host:port` */
  readonly apiServerEndpoint?: string
  readonly caCertHashes?: readonly string[]
  readonly unsafeSkipCAVerification?: boolean
}
