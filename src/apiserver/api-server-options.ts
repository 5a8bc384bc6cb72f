/** What an API server is started with. */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessMemory } from '#/platform/process-usage.ts'
import type { Store } from '#/store/store.ts'
import type { AdmissionPluginFactory } from './admission.ts'
import type { TolerationSeconds } from './admission/plugin-context.ts'
import type { ProxyClientCertificate } from './aggregator.ts'
import type { PortRange } from './allocation/node-ports.ts'
import type { Audit } from './audit.ts'
import type { AuthenticationSettings } from './authn.ts'
import type { AuthorizerSettings } from './authz.ts'
import type { Build } from './discovery/server-version.ts'
import type { FeatureGate } from './api-enablement.ts'
import type { RequestLimits } from './flow-control.ts'
import type { Metrics } from './metrics.ts'
import type { PostStartHooks } from './post-start-hooks.ts'
import type { Observability } from './observability.ts'
import type { HistorySettings } from './object-history.ts'
import type { PassSource } from './object-history/history-paths.ts'
import type { ReloadedFile } from './reloaded-file.ts'
import type { KubeletAccess } from './kubelets.ts'

export interface ApiServerOptions {
  readonly platform: Platform
  /** Owned by the caller, which closes it after the server has stopped. */
  readonly store: Store
  /** Version information for /version. */
  readonly build: Build
  /** Creates the admission plugins in execution order; see `readAdmission`. */
  readonly admission?: AdmissionPluginFactory
  /** Authenticators; client certificates only when absent. */
  readonly authentication?: AuthenticationSettings
  /** Authorizers in order; Node and RBAC when absent. */
  readonly authorizers?: readonly AuthorizerSettings[]
  /** Configuration files that are read again while the server runs. */
  readonly reloads?: ApiServerReloads
  /** Connects to external servers; required for webhooks and extension servers. */
  readonly connectHttp?: HttpConnect
  /** Client certificate for extension servers. Called for each request, because it may be renewed. */
  readonly proxyClient?: () => ProxyClientCertificate
  /**
   * Access to kubelets, pods and services. When absent, there are no logs, exec, attach, port-forward and
   * proxy subresources.
   */
  readonly kubelets?: KubeletAccess
  /** True to serve the metrics.k8s.io resources without access to kubelets, for simulated nodes. */
  readonly servesResourceMetrics?: boolean
  /** Built-in versions that are served in addition to the default ones: `storagemigration.k8s.io/v1beta1`. */
  readonly enabledVersions?: readonly string[]
  readonly featureGates?: readonly FeatureGate[]
  /** Owned by the caller, which runs it longer than the server. */
  readonly audit?: Audit
  /** Serves health and metrics; see `observability.ts`. */
  readonly observability?: Observability
  /** The memory of the process; unlimited when absent. */
  readonly memory?: ProcessMemory
  /** Limits on concurrent requests; unlimited when absent. */
  readonly limits?: RequestLimits
  /** Timeout for requests that are not long-running. */
  readonly requestTimeoutMs?: number
  readonly tolerationSeconds?: TolerationSeconds
  /** Absent when metrics are not recorded. */
  readonly metrics?: Metrics
  /** Told which steps of the start have finished. */
  readonly startHooks?: PostStartHooks
  /** The address and port at which pods and nodes reach this server. */
  readonly advertise?: Advertise
  /** Set if other API servers use the same store; host name of this one. */
  readonly sharedStore?: { readonly hostName: string }
  /** Service CIDRs, one per IP family, the default family first. */
  readonly serviceCidrs?: readonly string[]
  readonly nodePorts?: PortRange
  /** TTL of Events. */
  readonly eventTtlMs?: number
  /** No history is kept when absent. */
  readonly history?: HistorySettings | undefined
  /** The passes of components in this process. */
  readonly passes?: PassSource | undefined
  /** True to pass the origin of each write to the store, which keeps it beside the new version. */
  readonly recordsOrigins?: boolean
  /** Time until old revisions of the store are compacted; 0 never. */
  readonly compactionIntervalMs?: number
}

export interface ApiServerReloads {
  readonly authorizers?: ReloadedFile<readonly AuthorizerSettings[]>
  readonly issuers?: ReloadedFile<NonNullable<AuthenticationSettings['issuers']>>
}

export interface Advertise {
  readonly address: string
  readonly port: number
}
