/**
 * What a kubeconfig says to those who ask servers something of their own: where a server is, how it is known,
 * and how we show who we are. Webhooks are configured like that. The file is read once.
 */
import type { HttpClientTls } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { credentialsOf, readContent } from './connection.ts'
import { standingCredentials, type Credentials } from './credentials.ts'
import { loadKubeconfig, settingsOf, type Kubeconfig } from './kubeconfig.ts'

export interface Remote {
  readonly url: string
  readonly tls?: HttpClientTls
  readonly headers?: Readonly<Record<string, string>>
}

/** Throws Error that says what is wrong with the file. */
export async function readRemote(platform: Platform, path: string): Promise<Remote> {
  const settings = settingsOf(await loadOne(platform, path))
  if (settings === undefined)
    throw new Error(`the kubeconfig ${path} does not say which server: use a context`)
  const { server: url, ca, insecureSkipVerify, serverName, user } = settings
  if (user.exec || user.impersonate) {
    throw new Error(`the kubeconfig ${path} has a plugin or another user, which are not supported here`)
  }
  const credentials = standingCredentials(platform, user)
  const { headers, certificate } = await credentials.current(new AbortController().signal)
  const authority = ca && (await readContent(platform, ca))
  return {
    url,
    tls: {
      ...(authority !== undefined && { ca: authority }),
      ...(insecureSkipVerify && { insecureSkipVerify }),
      ...(serverName && { serverName }),
      ...certificate,
    },
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  }
}

/** Who we can be, by the names of users in the file, and who we are where nothing else is said. */
export interface Callers {
  readonly users: ReadonlyMap<string, Credentials>
  readonly current?: string
}

/** Throws Error that says what is wrong with the file. Where its clusters are does not matter. */
export async function readCallers(platform: Platform, path: string): Promise<Callers> {
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
