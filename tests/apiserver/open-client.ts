import { openConnection } from '#/client/connection.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import type { TestContext } from 'node:test'

export const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export interface ClientOptions {
  /** Path of the kubeconfig. */
  readonly kubeconfig: string
  /** Overrides the port in the kubeconfig. */
  readonly port?: number
}

/** A client of this project with its own connections, closed when the test ends. */
export async function openClient(t: TestContext, { kubeconfig, port }: ClientOptions): Promise<Client> {
  const sources = { explicitPath: kubeconfig, environment: {}, workingFolder: '/' }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  const server = port === undefined ? settings.server : `https://127.0.0.1:${port}`
  const transport = await openConnection({
    platform,
    connect: connectHttp,
    settings: { ...settings, server },
  })
  t.after(() => transport[Symbol.asyncDispose]())
  return clientOf({ platform, transport, userAgent: 'test' })
}
