import type { JsonValue } from '#/api/text/json-value.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Registry, RegistryExtension } from '../registry/registry.ts'
import type { AdmissionPlugin } from './admission-chain.ts'

/** Dependencies of admission plugins. */
export interface PluginContext extends Omit<Registry, 'admission'> {
  /** Must be called before the factories of other plugins, which take `cache` from their context. */
  extendRegistry(extension: RegistryExtension): void
  readonly authorizer: Authorizer
  /** Connects to external servers; without it, plugins that need a backend cannot be used. */
  readonly connectHttp?: HttpConnect
  /** Defaults of DefaultTolerationSeconds, from the API server's flags. */
  readonly tolerationSeconds?: TolerationSeconds
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
