import type { JsonValue } from '#/api/json-value.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Metrics } from '../metrics.ts'
import type { Registry } from '../registry/registry.ts'
import type { Remote } from '../settings/reading.ts'
import type { AdmissionPlugin } from './admission.ts'

/** What plugins are made of: the objects of the cluster as this server knows them, and who may do what. */
export interface PluginContext extends Omit<Registry, 'admission'> {
  readonly authorizer: Authorizer
  /** How servers of others are asked; without it none can be. */
  readonly remote?: RemoteAccess
  /** Counts what webhooks do, when somebody wants to know. */
  readonly metrics?: Pick<Metrics, 'admission'>
  /** What pods tolerate unless they say otherwise, from the flags of the server. */
  readonly tolerationSeconds?: TolerationSeconds
}

/** Where others are and who this server is to them: kubeconfig files say it. One that is bad rejects with Error. */
export interface RemoteAccess {
  readonly connectHttp: HttpConnect
  /** The server that the current context of a kubeconfig file names. */
  readonly readRemote: (path: string) => Promise<Remote>
  readonly readCallers: (path: string) => Promise<Callers>
}

/** Who this server can be to others. */
export interface Callers {
  /** By the name of the user in the kubeconfig file. */
  readonly users: ReadonlyMap<string, CallerCredentials>
  /** The user of the current context. */
  readonly current?: string
}

/** What proves it, at this moment: files may change while the server runs. */
export interface CallerCredentials {
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
