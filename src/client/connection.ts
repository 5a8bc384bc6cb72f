/**
 * Opens a connection to a cluster from settings: those of a kubeconfig, or the in-cluster configuration of a
 * pod.
 */
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
import { execCredentials } from './credentials/exec.ts'
import { HttpTransport } from './http.ts'

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

export interface ConnectionOptions {
  readonly platform: Platform
  readonly connect: HttpConnect
  readonly settings: ConnectionSettings
}

export async function openConnection({
  platform,
  connect,
  settings,
}: ConnectionOptions): Promise<HttpTransport> {
  const { server: url, ca, namespace: _namespace, user, ...server } = settings
  const caContent = ca === undefined ? undefined : await readContent(platform, ca)
  return new HttpTransport({
    platform,
    connect,
    server: { url, ...server, ...(caContent !== undefined && { ca: caContent }) },
    credentials: credentialsOf(platform, user),
  })
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

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** In-cluster configuration; undefined outside of a pod. */
export async function inClusterConfig(
  platform: Platform,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ConnectionSettings | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  const token = `${accountFolder}/token`
  if (!host || !port || (await platform.files.stat(token)) === undefined) return undefined
  const ca = `${accountFolder}/ca.crt`
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...((await platform.files.stat(ca)) !== undefined && { ca: { file: ca } }),
    namespace: environment['POD_NAMESPACE'] || (await accountNamespace(platform)),
    user: { token: { file: token } },
  }
}

async function accountNamespace({ files }: Platform): Promise<string> {
  const path = `${accountFolder}/namespace`
  if ((await files.stat(path)) === undefined) return 'default'
  return (
    Buffer.from(await files.read(path))
      .toString()
      .trim() || 'default'
  )
}
