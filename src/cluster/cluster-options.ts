/** What a cluster is started with. */
import type { ApiServerOptions } from '#/apiserver/api-server-options.ts'
import type { ApiServerFlags } from '#/apiserver/flags.ts'
import type { ClusterCertificates, KeyAndCertificate } from '#/kubeadm/certificates.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { ServeHttp } from '#/platform/http.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Profiler } from '#/platform/profiler.ts'
import type { ProcessMemory, ProcessUsage } from '#/platform/process-usage.ts'
import type { ContainerNode, ContainerNodeSettings } from './container-node.ts'
import type { ControlPlaneComponent } from './control-plane.ts'
import type { LockHolder } from './lock-folder.ts'
import type { EncryptedStore, StoreSettings } from './open-store.ts'
import type { SchedulerFiles } from './read-scheduler.ts'
import type { ApiServerSettings } from '#/apiserver/settings.ts'
import type { Audit } from '#/apiserver/audit.ts'
import type { SchedulerConfiguration } from '#/scheduler/configuration.ts'

export interface ClusterOptions {
  readonly platform: Platform
  readonly machine: ClusterMachine
  /** Absolute path; created when missing. */
  readonly folder: string
  /**
   * True if the folder belongs to other processes, too: it is not locked, and no kubeconfig is written.
   */
  readonly isFolderShared?: boolean
  /** Of certificates that `k8ts init` has made, whose names are kept; `pki` in the folder when absent. */
  readonly certificatesFolder?: string
  /** The address to listen on; `0.0.0.0` and `::` mean all addresses. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly store: StoreSettings
  /** The serving certificate; one of the cluster's CA when absent. */
  readonly servingCertificate?: KeyAndCertificate
  /** Overrides of the defaults. */
  readonly apiServer?: ApiServerFlags
  /** The control plane components beside the API server; none when absent. */
  readonly controlPlane?: ControlPlaneSettings
  readonly build: ApiServerOptions['build']
  /** Called after each completed step. */
  readonly onProgress: (text: string) => void
  /** Aborts the start; has no effect once the cluster has started. */
  readonly signal?: AbortSignal
}

export interface ControlPlaneSettings extends SchedulerFiles {
  /** All when absent. */
  readonly components?: readonly ControlPlaneComponent[]
  /** CIDRs, ranges `a-b` or single addresses for services of type LoadBalancer. */
  readonly loadBalancerAddresses?: readonly string[]
  readonly nodes: NodesSettings
}

export type NodesSettings =
  | { readonly type: 'none' }
  | { readonly type: 'simulated'; readonly count: number }
  /** This machine, with real containers. */
  | ContainerNodeSettings

/** Machine-specific dependencies of the cluster that are not part of the platform. */
export interface ClusterMachine {
  readonly serveHttp: ServeHttp
  readonly connectHttp: HttpConnect
  /** Imports a third-party module. */
  readonly importModule: (specifier: string) => Promise<unknown>
  readonly loadGrpc: () => Promise<GrpcConnect>
  readonly crypto: Crypto
  readonly usage: () => ProcessUsage
  readonly memory?: ProcessMemory
  /** Without it there are no profiles. */
  readonly profiler?: Profiler
  /** PID of this process. */
  readonly pid: number
  readonly startedMs: number
  /** Path of the program `k8ts`, if it has started this process. */
  readonly launcher?: string
  /** Present if a supervisor restarts this process when it crashes. */
  readonly supervision?: Pick<LockHolder, 'supervisorPid' | 'crash'>
  /** Host names and addresses of the machine. */
  readonly names: readonly string[]
}

/** What the API server of a cluster is made of. */
export interface ApiServerParts {
  readonly opened: EncryptedStore
  readonly settings: ApiServerSettings
  readonly certificates: ClusterCertificates
  readonly audit: Audit | undefined
  readonly node: ContainerNode | undefined
}

export interface ControlPlaneParts extends Omit<ApiServerParts, 'opened' | 'audit'> {
  readonly scheduler: SchedulerConfiguration | undefined
}
