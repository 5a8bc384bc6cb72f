import type { JsonValue } from '#/api/json-value.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Metrics } from '../metrics.ts'
import type { Registry, RegistryExtension } from '../registry/registry.ts'
import type { Remote } from '../settings/flag-files.ts'
import type { AdmissionPlugin } from './admission-chain.ts'

/** Dependencies of admission plugins. */
export interface PluginContext extends Omit<Registry, 'admission'> {
  /** Must be called before the factories of other plugins, which take `cache` from their context. */
  extendRegistry(extension: RegistryExtension): void
  readonly authorizer: Authorizer
  /** Access to external servers; without it, plugins that need a backend cannot be used. */
  readonly remote?: KubeconfigAccess
  /** Absent when admission metrics are not recorded. */
  readonly metrics?: Pick<Metrics, 'admission'>
  /** Defaults of DefaultTolerationSeconds, from the API server's flags. */
  readonly tolerationSeconds?: TolerationSeconds
}

/**
 * Addresses of external servers, and credentials for them, read from kubeconfig files. The functions reject
 * if a file is invalid.
 */
export interface KubeconfigAccess {
  readonly connectHttp: HttpConnect
  /** Reads the cluster and credentials of the current context of a kubeconfig file. */
  readonly readKubeconfig: (path: string) => Promise<Remote>
  readonly readWebhookCredentials: (path: string) => Promise<WebhookCredentials>
}

/** Client credentials for external servers, from a kubeconfig file. */
export interface WebhookCredentials {
  /** By the name of the user in the kubeconfig file. */
  readonly users: ReadonlyMap<string, ClientCredentials>
  /** The user of the current context. */
  readonly current?: string
}

/** Credentials that are reread for each use, because their files may change while the server runs. */
export interface ClientCredentials {
  current(signal: AbortSignal): Promise<{
    readonly headers: Readonly<Record<string, string | readonly string[]>>
    /** PEM. */
    readonly certificate?: { readonly cert: Uint8Array | string; readonly key: Uint8Array | string }
  }>
}

export interface TolerationSeconds {
  readonly notReady: number
  readonly unreachable: number
}

/**
 * Creates a plugin. `configuration` is undefined if the AdmissionConfiguration has none for it. Throws
 * ConfigurationError.
 */
export type PluginFactory = (context: PluginContext, configuration?: JsonValue) => AdmissionPlugin

/** Invalid configuration: the server must not start. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigurationError'
  }
}
