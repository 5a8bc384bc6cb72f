import type { JsonValue } from '#/api/json-value.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Registry } from '../registry/registry.ts'
import type { AdmissionPlugin } from './admission.ts'

/** What plugins are made of: the objects of the cluster as this server knows them, and who may do what. */
export interface PluginContext extends Omit<Registry, 'admission'> {
  readonly authorizer: Authorizer
  /** How image reviews are sent; without it no backend can be asked. */
  readonly reviewImages?: ReviewImages
  /** What pods tolerate unless they say otherwise, from the flags of the server. */
  readonly tolerationSeconds?: TolerationSeconds
}

/**
 * Sends a review to the backend that a kubeconfig file names, and gives back what it answered. Rejects when
 * it cannot.
 */
export type ReviewImages = (kubeConfigFile: string, review: JsonValue) => Promise<JsonValue>

export interface TolerationSeconds {
  readonly notReady: number
  readonly unreachable: number
}

/**
 * Makes a plugin. The configuration is what the administrator wrote for it, undefined when nothing. Throws
 * ConfigurationError.
 */
export type PluginFactory = (context: PluginContext, configuration?: JsonValue) => AdmissionPlugin

/** An administrator's configuration cannot be used: the server does not start. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigurationError'
  }
}
