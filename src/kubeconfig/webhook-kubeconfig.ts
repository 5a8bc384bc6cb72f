/**
 * Reads a kubeconfig for calls to other servers, such as webhooks: the server's URL, its certificate
 * authority and the client credentials. The file is read once.
 */
import type { HttpClientTls } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { credentialsOf, readContent } from './connection-settings.ts'
import { staticCredentials, type Credentials } from './credentials.ts'
import { loadKubeconfig, settingsOf, type Kubeconfig } from './kubeconfig.ts'

export interface WebhookTarget {
  readonly url: string
  readonly tls?: HttpClientTls
  readonly headers?: Readonly<Record<string, string>>
}

/** Throws Error that names the problem in the file. */
export async function readWebhookKubeconfig(platform: Platform, path: string): Promise<WebhookTarget> {
  const settings = settingsOf(await loadOne(platform, path))
  if (settings === undefined) throw new Error(`kubeconfig ${path} has no current context`)
  const { server: url, ca, insecureSkipVerify, serverName, user, proxy } = settings
  if (user.exec || user.authProvider || user.impersonate) {
    throw new Error(
      `kubeconfig ${path}: exec plugins, auth providers and impersonation are not supported here`,
    )
  }
  if (proxy !== undefined) throw new Error(`kubeconfig ${path}: proxy-url is not supported here`)
  const credentials = staticCredentials(platform, user)
  const { headers, certificate } = await credentials.current(new AbortController().signal)
  const caContent = ca && (await readContent(platform, ca))
  return {
    url,
    tls: {
      ...(caContent !== undefined && { ca: caContent }),
      ...(insecureSkipVerify && { insecureSkipVerify }),
      ...(serverName && { serverName }),
      ...certificate,
    },
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  }
}

/** Credentials by the user names of the file, and the user of the current context. */
export interface WebhookCredentials {
  readonly users: ReadonlyMap<string, Credentials>
  readonly current?: string
}

/** Throws Error that names the problem in the file. Ignores the servers of its clusters. */
export async function readWebhookCredentials(platform: Platform, path: string): Promise<WebhookCredentials> {
  const kubeconfig = await loadOne(platform, path)
  const users = [...kubeconfig.users.keys()].map(userName => {
    const { user } = settingsOf(kubeconfig, { userName, cluster: { server: anywhere } })!
    return [userName, credentialsOf(platform, user)] as const
  })
  const current = kubeconfig.contexts.get(kubeconfig.currentContext)?.value.user
  return { users: new Map(users), ...(current && { current }) }
}

const anywhere = 'https://localhost'

function loadOne(platform: Platform, path: string): Promise<Kubeconfig> {
  return loadKubeconfig(platform, { explicitPath: path, environment: {}, workingFolder: '/' })
}
