/** The settings of a connection to a cluster, as a context of a kubeconfig defines them, and their credentials. */
import type { Platform } from '#/platform/platform.ts'
import {
  impersonating,
  staticCredentials,
  type ContentSource,
  type Credentials,
  type Impersonation,
  type StaticCredentials,
} from './credentials.ts'
import { execCredentials } from './exec-credentials.ts'

export interface ConnectionSettings {
  readonly server: string
  readonly ca?: ContentSource
  readonly insecureSkipVerify?: boolean
  readonly serverName?: string
  readonly disableCompression?: boolean
  /** Default namespace of commands. */
  readonly namespace: string
  readonly user: UserSettings
}

export interface UserSettings extends StaticCredentials {
  /** Credential plugin; used only when no other credentials are set. */
  readonly exec?: ExecSettings
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

export function credentialsOf(
  platform: Platform,
  { exec, impersonate, ...staticUser }: UserSettings,
): Credentials {
  const credentials =
    exec && !staticUser.token && !staticUser.basic
      ? execCredentials(platform, exec)
      : staticCredentials(platform, staticUser)
  return impersonate ? impersonating(credentials, impersonate) : credentials
}

export async function readContent(platform: Platform, source: ContentSource): Promise<Uint8Array | string> {
  return 'data' in source ? source.data : platform.files.read(source.file)
}
