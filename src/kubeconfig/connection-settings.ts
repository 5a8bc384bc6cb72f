/** The settings of a connection to a cluster, as a context of a kubeconfig defines them, and their credentials. */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  impersonating,
  staticCredentials,
  type ContentSource,
  type Credentials,
  type Impersonation,
  type StaticCredentials,
} from './credentials.ts'
import { execCredentials, type PluginStreams } from './exec-credentials.ts'
import { oidcCredentials, type AuthProviderSettings } from './oidc-credentials.ts'

export interface ConnectionSettings {
  readonly server: string
  readonly ca?: ContentSource
  readonly insecureSkipVerify?: boolean
  readonly serverName?: string
  readonly disableCompression?: boolean
  /** URL of the proxy. */
  readonly proxy?: string
  /** Default namespace of commands. */
  readonly namespace: string
  readonly user: UserSettings
}

export interface UserSettings extends StaticCredentials {
  /** Credential plugin; used only when no other credentials are set. */
  readonly exec?: ExecSettings
  readonly authProvider?: AuthProviderSettings
  readonly impersonate?: Impersonation
}

export interface ExecSettings {
  readonly apiVersion: string
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always'
  /** Shown to the user when the plugin is not installed. */
  readonly installHint?: string
  /** Passed to the plugin when it requests cluster information. */
  readonly cluster?: Readonly<Record<string, unknown>>
}

export interface CredentialsOptions {
  /** Lets a plugin ask the user. */
  readonly streams?: PluginStreams
  /** For auth providers, which ask another server. */
  readonly connectHttp?: HttpConnect
  readonly proxyOf?: (origin: string) => string | undefined
}

/** Throws Error if the auth provider of the user is not supported. */
export function credentialsOf(
  platform: Platform,
  { impersonate, ...user }: UserSettings,
  options: CredentialsOptions = {},
): Credentials {
  const credentials = userCredentials(platform, user, options)
  return impersonate ? impersonating(credentials, impersonate) : credentials
}

function userCredentials(
  platform: Platform,
  { exec, authProvider, ...staticUser }: UserSettings,
  { streams, connectHttp, proxyOf }: CredentialsOptions,
): Credentials {
  if (staticUser.token || staticUser.basic) return staticCredentials(platform, staticUser)
  if (exec && !staticUser.certificate) return execCredentials(platform, exec, streams)
  if (authProvider === undefined) return staticCredentials(platform, staticUser)
  const { name } = authProvider
  if (name !== 'oidc' || connectHttp === undefined)
    throw new Error(`no Auth Provider found for name "${name}"`)
  return oidcCredentials({ platform, connectHttp, settings: authProvider, ...(proxyOf && { proxyOf }) })
}

export async function readContent(platform: Platform, source: ContentSource): Promise<Uint8Array | string> {
  return 'data' in source ? source.data : platform.files.read(source.file)
}
